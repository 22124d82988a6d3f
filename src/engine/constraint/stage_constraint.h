// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/constraint/stage_counts.h"
#include "engine/constraint/stage_manifest.h"
#include "grammar/tokens/token_mask.h"
#include "grammar/tokens/token_trie.h"

namespace anemone::engine {

// The stages of one answer while it is made, as grammar::TokenConstraint is the grammar of one:
// for each step mask(), then accept() of the token that was picked. Copies are independent and
// share the manifest. Single-thread.
class StageConstraint {
 public:
  // The trie, of the model's vocabulary, is null for a model without a tokenizer. The tokens of a
  // field other than its newline do not hold the bytes of that, so that a field is one line.
  // kUnsupported if no token is left for the content of a field.
  static Result<StageConstraint> create(StageManifest manifest, std::int32_t vocab_size,
                                        const grammar::TokenTrie* trie);

  // The tokens that may come next. kInvalidArgument after the end.
  Result<std::shared_ptr<const grammar::TokenMask>> mask() const;
  // `id` is the next token. kInvalidArgument if the mask does not allow it; nothing changes then.
  Status accept(std::int32_t id);
  // A token that ends the text was accepted, or the last stage is over.
  bool has_ended() const { return has_ended_; }
  const StageCounts& counts() const { return counts_; }

 private:
  using Mask = std::shared_ptr<const grammar::TokenMask>;
  struct Plan {
    StageManifest manifest;
    std::int32_t vocab_size = 0;
    Mask content;  // of a field that is too short to end
    Mask content_or_newline;
    Mask newline;
    Mask open;
  };

  explicit StageConstraint(std::shared_ptr<const Plan> plan);
  const Stage& stage() const;
  Mask allowed() const;
  void accept_in_field(std::int32_t id);
  void next_stage();

  std::shared_ptr<const Plan> plan_;
  StageCounts counts_;
  std::int64_t tokens_ = 0;  // of the stage so far
  bool has_ended_ = false;
};

}  // namespace anemone::engine
