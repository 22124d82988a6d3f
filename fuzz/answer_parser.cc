// SPDX-License-Identifier: Apache-2.0
// What a model wrote, in one of the syntaxes for calls: the first byte says which and how the text
// is cut. However it is cut, it gives the same reasoning, content and calls.
#include "text/tools/answer_parser.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "fuzz/support.h"

namespace {

using namespace anemone;

struct Answer {
  std::string texts[2];  // content and reasoning
  std::vector<std::pair<std::string, std::string>> calls;
  bool operator==(const Answer&) const = default;
};

Answer parse(const text::AnswerParserOptions& options, std::string_view text, std::size_t stride) {
  using Kind = text::AnswerEvent::Kind;
  text::AnswerParser parser(options);
  Answer out;
  bool is_open = false;
  const auto add = [&](const std::vector<text::AnswerEvent>& events) {
    for (const text::AnswerEvent& event : events) {
      if (event.kind == Kind::kContent) out.texts[0] += event.text;
      if (event.kind == Kind::kReasoning) out.texts[1] += event.text;
      if (event.kind == Kind::kCallBegin) {
        ANEMONE_CHECK(!is_open && !event.text.empty() && event.call == out.calls.size());
        out.calls.emplace_back(event.text, "");
        is_open = true;
      }
      if (event.kind == Kind::kArguments) {
        ANEMONE_CHECK(is_open && event.call + 1 == out.calls.size());
        out.calls.back().second += event.text;
      }
      if (event.kind == Kind::kCallEnd) {
        ANEMONE_CHECK(is_open);
        is_open = false;
      }
    }
  };
  for (std::size_t at = 0; at < text.size(); at += stride)
    add(parser.push(text.substr(at, stride)));
  add(parser.finish());
  ANEMONE_CHECK(!is_open && parser.calls() == out.calls.size());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static const auto tools = [] {
    std::vector<text::ToolFunction> functions;
    auto schema = parse_json(
        R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}})",
        "schema");
    functions.push_back({"f", *std::move(schema)});
    return std::make_shared<const text::ToolSet>(std::move(functions));
  }();
  constexpr int kSyntaxes = static_cast<int>(text::CallSyntax::kPython) + 1;
  text::AnswerParserOptions options;
  options.syntax.calls = static_cast<text::CallSyntax>(data[0] % kSyntaxes);
  options.tools = tools;
  if (data[0] / kSyntaxes % 2 == 0) {
    const bool is_gemma = options.syntax.calls == text::CallSyntax::kGemma;
    options.syntax.reasoning_open = is_gemma ? "<|channel>thought\n" : "<think>";
    options.syntax.reasoning_close = is_gemma ? "<channel|>" : "</think>";
    options.is_in_reasoning = data[0] / kSyntaxes % 4 == 0;
  }
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  const Answer whole = parse(options, text, text.size());
  ANEMONE_CHECK(parse(options, text, 1) == whole);
  ANEMONE_CHECK(parse(options, text, 1 + data[0] % 7) == whole);
  const bool is_whole = options.syntax.calls == text::CallSyntax::kQwenXml ||
                        options.syntax.calls == text::CallSyntax::kGemma;
  for (const auto& [name, arguments] : whole.calls)
    if (is_whole) ANEMONE_CHECK(parse_json(arguments, "arguments").ok());
  return 0;
}
