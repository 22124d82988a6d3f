// SPDX-License-Identifier: Apache-2.0
// The manifest of an answer in stages, which follow each other: tokens that are given, fields of
// one line, and free text. It is a JSON object with
//   "stages": 1 to kMaxStages objects, each with a "kind" and
//     "literal": "token_ids" or "text", which the answer has at this place
//     "field":   "min_tokens" (0) and "max_tokens" (24) of a line, which the newline token ends
//     "open":    nothing more; any tokens up to one that ends the text. It is the last stage.
//   "newline_token_id": the token that ends a field; the one that "\n" is encoded as
//   "stop_token_ids":   tokens that end the text beside the end-of-sequence tokens of the model
//   "name":             of the manifest, which the statistics of the answer repeat
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace anemone::engine {

// What a manifest can name of a model.
struct StageVocabulary {
  const text::Tokenizer* tokenizer = nullptr;  // null: literals and the newline have to be ids
  std::int32_t size = 0;                       // ids are below this
  std::vector<std::int32_t> eos_ids;           // those that are in the vocabulary
};

struct Stage {
  enum class Kind : std::uint8_t { kLiteral, kField, kOpen };
  Kind kind = Kind::kOpen;
  std::vector<std::int32_t> ids = {};  // of a literal
  std::int64_t min_tokens = 0;         // of a field, without its newline
  std::int64_t max_tokens = 0;
};

struct StageManifest {
  static constexpr std::size_t kMaxStages = 1'024;
  static constexpr std::size_t kMaxStopIds = 64;
  static constexpr std::size_t kMaxNameBytes = 200;
  static constexpr std::int64_t kDefaultFieldTokens = 24;
  static constexpr std::int64_t kMaxFieldTokens = 65'536;
  static constexpr std::size_t kMaxLiteralTokens = 65'536;  // of all literals together

  std::string name;
  std::optional<std::int32_t> newline;  // set where there is a field
  std::vector<std::int32_t> end_ids;    // the stop tokens and the end-of-sequence tokens
  std::vector<Stage> stages;
};

// kParseError for what is no JSON or has a member of another type, kInvalidArgument for a value
// that is out of range and for members that are not known: "[subject#/stages/0] expected ...".
// What is returned can be followed to its end: no literal but the last token of all has a token
// that ends the text, and the newline is none of these.
Result<StageManifest> parse_stage_manifest(std::string_view json, const StageVocabulary& vocabulary,
                                           std::string_view subject);

}  // namespace anemone::engine
