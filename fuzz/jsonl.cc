// SPDX-License-Identifier: Apache-2.0
// Request lines of `tokenize --stdin-jsonl` and `chat-template --stdin-jsonl`: every line has one
// answer, which is text in JSON or an error.
#include "text/jsonl.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "fuzz/support.h"

namespace {

using namespace anemone;

// Three words and the bytes of the alphabet that they need.
constexpr std::string_view kTokenizer = R"({"added_tokens": [{"id": 5, "content": "<s>",
  "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],
  "normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false,
  "trim_offsets": true, "use_regex": true}, "post_processor": null,
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
  "use_regex": true}, "model": {"type": "BPE", "dropout": null, "unk_token": null,
  "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
  "byte_fallback": false, "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3, "abc": 4},
  "merges": ["a b", "ab c"]}})";

constexpr const char* kTemplate =
    "{% for m in messages %}<{{ m.role }}>{{ m['content'] | trim }}{% endfor %}"
    "{% if tools %}{{ tools | tojson }}{% endif %}{{ bos_token }}{{ strftime_now('%d %B') }}";

void check_answer(const Json& answer) {
  ANEMONE_CHECK(answer.is_object());
  ANEMONE_CHECK(answer.contains("error") != answer.contains("text"));
  ANEMONE_CHECK(dump_json(answer).find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto tokenizer = text::Tokenizer::parse(kTokenizer, "tokenizer");
  static const auto chat_template = text::ChatTemplate::parse(kTemplate);
  ANEMONE_CHECK(tokenizer.ok() && chat_template.ok());
  const auto request = parse_json(fuzz::text_of(data, size), "request");
  if (!request.ok()) return 0;
  check_answer(text::tokenize_line(**tokenizer, *request));
  check_answer(text::render_line(*chat_template, *request));
  return 0;
}
