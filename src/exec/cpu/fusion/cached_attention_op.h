// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "exec/cpu/fusion/fused_op.h"

namespace anemone::exec {

// Where the tokens of a step go in their caches.
struct CacheWrites {
  enum class Kind {
    kMask,        // where a write mask says
    kAppend,      // to the last T positions, or where facts about the attention mask say
    kAtPosition,  // to positions that are numbers of the run
  };
  Kind kind = Kind::kMask;
  // kAtPosition: which numbers of their inputs.
  struct Elements {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  std::array<Elements, 2> elements = {};  // of the keys and of the values
};

// Inputs: queries [1, H, T, D], keys and values of the step [1, KV, T, D], attention mask [1, 1, T,
// S], and what says where the tokens go: a write mask [1, 1, S, T], or vectors of int32 with the
// first position of the keys, the one after their last, and the same of the values; states: caches
// of keys and values [1, KV, S or more, D]. Stores the step's tokens, but for padding, and gives
// softmax(factor * queries @ keys^T + mask) @ values, [1, H, T, D]. Sinks, one per query head, join
// the scores in the softmax.
//
// Tokens that are appended go to the last T of the S positions, unless facts about the mask say
// that the caches are the caller's: then after the positions that these have.
//
// The masks decide at run time: where their rows are one-hot, and zero in one run of positions and
// out of every score's reach elsewhere, only the tokens that are there are touched; any other mask
// is computed with as written.
class CachedAttentionOp : public FusedOp {
 public:
  CachedAttentionOp(float factor, std::vector<float> sinks, const CacheWrites& writes)
      : factor_(factor), sinks_(std::move(sinks)), writes_(writes) {}
  std::string_view name() const override { return "cached_attention"; }
  // Scores and their mix of values, over every position.
  Cost cost(const Shape& output, std::span<const Shape> states) const override {
    return {0, 4 * element_count(output) * states[0][states[0].size() - 2]};
  }
  std::optional<MaskFact::Role> mask_role(std::size_t i) const override;
  std::vector<std::size_t> stored_inputs() const override;
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override;

 private:
  // The write masks of a call for its keys and its values; `own` keeps those that no mask input
  // gives.
  struct Targets {
    std::array<WriteMask, 2> own;
    std::array<const WriteMask*, 2> masks = {};
  };
  Status find_targets(const FusedCall& call, MaskCache& masks, Targets& out) const;
  bool can_store_first(std::span<FusedCall> calls, std::span<const Targets> targets,
                       MaskCache& masks) const;
  void store(const FusedCall& call, const Targets& targets) const;
  void attend(std::span<FusedCall> calls, const FusedContext& context) const;
  // Rows [begin, begin + count) of key/value head `kv`, as far as there are so many.
  void attend_rows(const FusedCall& call, std::int64_t kv, std::int64_t begin, std::int64_t count,
                   const FusedContext& context) const;

  float factor_;
  std::vector<float> sinks_;  // of each query head, or none
  CacheWrites writes_;
};

}  // namespace anemone::exec
