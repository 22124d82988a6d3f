// SPDX-License-Identifier: Apache-2.0
#include "text/tools/answer_syntax.h"

#include <algorithm>

namespace anemone::text {
namespace {

constexpr std::string_view kThinkOpen = "<think>";
constexpr std::string_view kThinkClose = "</think>";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

CallSyntax find_call_syntax(std::string_view text) {
  if (has(text, "<|channel|>") && has(text, "<|message|>")) return CallSyntax::kHarmony;
  if (has(text, "<|tool_call>call:")) return CallSyntax::kGemma;
  if (has(text, "<|tool_call_start|>") || has(text, "<|tool_list_start|>"))
    return CallSyntax::kPython;
  if (has(text, "[TOOL_CALLS]"))
    return has(text, "[ARGS]") ? CallSyntax::kMistralNamed : CallSyntax::kMistralList;
  if (has(text, "<tool_call>")) {
    if (has(text, "<function=")) return CallSyntax::kQwenXml;
    // Other families put something else between these markers.
    const bool is_json =
        has(text, "\"arguments\"") || has(text, "\\\"arguments\\\"") || has(text, "'arguments'");
    if (is_json && !has(text, "<arg_key>")) return CallSyntax::kHermes;
    return CallSyntax::kNone;
  }
  if (has(text, "<|tool_call|>") || takes_tools_in_message(text)) return CallSyntax::kJsonList;
  if (has(text, "<|start_header_id|>") && has(text, "\"parameters\": ")) return CallSyntax::kLlama;
  return CallSyntax::kNone;
}

bool has_token(const Tokenizer* tokenizer, std::string_view token) {
  return tokenizer != nullptr && tokenizer->token_to_id(token).has_value();
}

// Every marker, whether a special token or not.
std::vector<std::string_view> markers_of(CallSyntax syntax) {
  switch (syntax) {
    case CallSyntax::kLlama:
      return {"<|python_tag|>"};
    case CallSyntax::kMistralList:
    case CallSyntax::kMistralNamed:
      return {"[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"};
    case CallSyntax::kHarmony:
      return {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>",
              "<|end|>",   "<|call|>",    "<|return|>"};
    case CallSyntax::kGemma:
      return {"<|tool_call>", "<tool_call|>", "<|\"|>"};
    default:
      return {call_open(syntax), call_close(syntax)};
  }
}

}  // namespace

AnswerSyntax find_answer_syntax(std::string_view chat_template, const Tokenizer* tokenizer) {
  AnswerSyntax out;
  out.calls = find_call_syntax(chat_template);
  if (out.calls == CallSyntax::kHarmony) return out;
  if (has(chat_template, "<|channel>thought")) {
    out.reasoning_open = "<|channel>thought\n";
    out.reasoning_close = "<channel|>";
  } else if (has(chat_template, kThinkClose) ||
             (has_token(tokenizer, kThinkOpen) && has_token(tokenizer, kThinkClose))) {
    out.reasoning_open = kThinkOpen;
    out.reasoning_close = kThinkClose;
  }
  return out;
}

bool takes_tools(std::string_view chat_template) {
  return has(chat_template, "tools");
}

bool takes_tools_in_message(std::string_view chat_template) {
  return has(chat_template, "message['tools']") && has(chat_template, "<|tool|>");
}

bool opens_reasoning(const AnswerSyntax& syntax, std::string_view prompt) {
  const auto trimmed = [](std::string_view text) {
    const std::size_t last = text.find_last_not_of(" \t\r\n");
    return last == text.npos ? std::string_view() : text.substr(0, last + 1);
  };
  const std::string_view open = trimmed(syntax.reasoning_open);
  return !open.empty() && trimmed(prompt).ends_with(open);
}

std::string_view call_open(CallSyntax syntax) {
  switch (syntax) {
    case CallSyntax::kHermes:
    case CallSyntax::kQwenXml:
      return "<tool_call>";
    case CallSyntax::kMistralList:
    case CallSyntax::kMistralNamed:
      return "[TOOL_CALLS]";
    case CallSyntax::kJsonList:
      return "<|tool_call|>";
    case CallSyntax::kGemma:
      return "<|tool_call>";
    case CallSyntax::kPython:
      return "<|tool_call_start|>";
    default:
      return {};
  }
}

std::string_view call_close(CallSyntax syntax) {
  switch (syntax) {
    case CallSyntax::kHermes:
    case CallSyntax::kQwenXml:
      return "</tool_call>";
    case CallSyntax::kJsonList:
      return "<|/tool_call|>";
    case CallSyntax::kGemma:
      return "<tool_call|>";
    case CallSyntax::kPython:
      return "<|tool_call_end|>";
    default:
      return {};
  }
}

std::vector<std::int32_t> marker_tokens(const AnswerSyntax& syntax, const Tokenizer& tokenizer,
                                        bool with_calls) {
  std::vector<std::string_view> markers;
  if (with_calls || syntax.calls == CallSyntax::kHarmony) markers = markers_of(syntax.calls);
  if (syntax.reasoning_open == "<|channel>thought\n")
    markers.insert(markers.end(), {"<|channel>", "<channel|>"});
  else
    markers.insert(markers.end(), {syntax.reasoning_open, syntax.reasoning_close});
  std::vector<std::int32_t> out;
  for (const std::string_view marker : markers) {
    if (marker.empty()) continue;
    const auto id = tokenizer.token_to_id(marker);
    if (id && tokenizer.is_special(*id)) out.push_back(*id);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace anemone::text
