// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/tokenizer/token_model.h"
#include "text/tokenizer/vocab.h"

namespace anemone::text {

// SentencePiece unigram: of all ways to cut a piece into entries, the one with the largest sum of
// scores (Viterbi). Linear in the piece times the longest entry. Thread-safe.
class Unigram : public TokenModel {
 public:
  // scores[id] belongs to the entry `id`; unk_id is -1 when there is none.
  static Result<std::unique_ptr<const Unigram>> build(Vocab vocab, std::vector<double> scores,
                                                      std::int32_t unk_id, bool byte_fallback);
  // kUnsupported when a character has no entry and the model no unk_id.
  Status tokenize(std::string_view piece, std::vector<std::int32_t>& ids,
                  WorkBudget& work) const override;
  const Vocab& vocab() const override { return vocab_; }

 private:
  Unigram(Vocab vocab, std::vector<double> scores, std::int32_t unk_id)
      : vocab_(std::move(vocab)), scores_(std::move(scores)), unk_id_(unk_id) {}
  Status append_ids(std::string_view part, std::vector<std::int32_t>& ids) const;

  Vocab vocab_;
  std::vector<double> scores_;
  std::int32_t unk_id_;
  double unk_score_ = 0;
  std::vector<std::int32_t> byte_ids_;  // empty without byte_fallback
  std::vector<std::int32_t> sorted_;    // ids in the order of their bytes: a prefix is a range
};

}  // namespace anemone::text
