// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/charged.h"
#include "base/json.h"

namespace anemone::text {

// A part of the normalized text, never empty. `text` lives in the caller's input or in PieceList.
struct Piece {
  std::string_view text;
  bool at_start;  // it begins where the whole input begins
};

// What the steps make of a text, one after the other. All memory is charged to `work`.
struct PieceList {
  explicit PieceList(WorkBudget& work) : pieces(work), changed(work) {}
  ChargedVector<Piece> pieces;
  ChargedVector<char> changed;  // where the pieces lie when a step changed their texts
};

// Cuts text into the words that the model sees. Immutable, thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Spends `work`: the error when that is used up.
  virtual Status apply(PieceList& list, WorkBudget& work) const = 0;
};

// A pre-tokenizer and whether it ends in ByteLevel: then the model's vocabulary is written in the
// byte alphabet (byte_level.h) and the pieces are taken as raw bytes.
struct ParsedPreTokenizer {
  std::unique_ptr<const PreTokenizer> steps;
  bool byte_level = false;
};

// The "pre_tokenizer" of a tokenizer.json: Split, ByteLevel, Digits, Metaspace, WhitespaceSplit and
// Sequence. kUnsupported names any other, and a ByteLevel that is not the last step.
Result<ParsedPreTokenizer> parse_pre_tokenizer(const Json& json);

}  // namespace anemone::text
