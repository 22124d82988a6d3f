// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/charged.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/token_finder.h"

namespace anemone::text {

// A token that is found in the text as it stands, before any cutting.
struct AddedToken {
  std::string content;
  std::string
      text;  // what it matches and decodes to: content, normalized where `normalized` is set
  std::int32_t id = -1;
  bool single_word = false;  // only between characters that are not of a word
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool normalized = false;   // matches in the normalized text instead of the raw text
  bool special = false;  // control token: not parsed when the caller says so, skipped in decoding
};

// A range of a text: an added token, or text between them (id -1).
struct TextSpan {
  std::size_t begin;
  std::size_t end;
  std::int32_t id;
};

// The added tokens of one tokenizer. If several match at a place, the longest wins. Thread-safe.
class AddedTokens {
 public:
  AddedTokens() = default;
  // Linear in the texts. kCorrupt for a token or id that is there twice, and for more than
  // kMaxBytes of text; kInvalidArgument when normalizing them takes too long.
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;
  static Result<AddedTokens> build(std::vector<AddedToken> tokens, const Normalizer* normalizer);

  enum class Stage { kRaw, kNormalized };
  // Appends the spans of `text` (valid UTF-8) in order, in linear time. They cover it, except that
  // a token's span with lstrip or rstrip may overlap its neighbour's. Spends `work`: the error when
  // that is used up.
  Status split(std::string_view text, Stage stage, bool parse_special,
               ChargedVector<TextSpan>& spans, WorkBudget& work) const;

  bool has_stage(Stage stage) const { return !finder(stage).empty(); }
  const AddedToken* find(std::int32_t id) const;
  const AddedToken* find(std::string_view content) const;
  const std::vector<AddedToken>& all() const { return tokens_; }

 private:
  const TokenFinder& finder(Stage stage) const { return stage == Stage::kRaw ? raw_ : normalized_; }
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::int32_t, std::size_t> by_id_;
  std::unordered_map<std::string, std::size_t> by_content_;
  TokenFinder raw_;
  TokenFinder normalized_;
};

}  // namespace anemone::text
