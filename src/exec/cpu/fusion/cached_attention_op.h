// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/fusion/fused_op.h"

namespace anemone::exec {

// Inputs: queries [1, H, T, D], keys and values of the step [1, KV, T, D], attention mask [1, 1, T,
// S], and write mask [1, 1, S, T] unless the tokens are appended; states: caches of keys and values
// [1, KV, S or more, D]. Puts the step's tokens into the positions that the write mask marks, and
// gives softmax(factor * queries @ keys^T + mask) @ values, [1, H, T, D]. Sinks, one per query
// head, join the scores in the softmax.
//
// Tokens that are appended go to the last T of the S positions, unless facts about the mask say
// that the caches are the caller's: then behind the positions that these have.
//
// The masks decide at run time: where their rows are one-hot, and zero in one run of positions and
// out of every score's reach elsewhere, only the tokens that are there are touched; any other mask
// is computed with as written.
class CachedAttentionOp : public FusedOp {
 public:
  CachedAttentionOp(float factor, std::vector<float> sinks, bool appends)
      : factor_(factor), sinks_(std::move(sinks)), appends_(appends) {}
  std::string_view name() const override { return "cached_attention"; }
  // Scores and their mix of values, over every position.
  Cost cost(const Shape& output, std::span<const Shape> states) const override {
    return {0, 4 * element_count(output) * states[0][2]};
  }
  std::optional<MaskFact::Role> mask_role(std::size_t i) const override;
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override;

 private:
  const WriteMask& write_mask(const FusedCall& call, MaskCache& masks) const;
  bool can_store_first(std::span<FusedCall> calls, MaskCache& masks) const;
  void store(const FusedCall& call, const FusedContext& context) const;
  void attend(std::span<FusedCall> calls, const FusedContext& context) const;
  void attend_heads(const FusedCall& call, std::int64_t t, std::int64_t kv, std::int64_t head,
                    std::int64_t rows, const FusedContext& context) const;
  void attend_many(std::span<FusedCall> calls, const FusedContext& context) const;

  const float* sink(std::int64_t head) const {
    return sinks_.empty() ? nullptr : sinks_.data() + head;
  }

  float factor_;
  std::vector<float> sinks_;  // of each query head, or none
  bool appends_;
};

}  // namespace anemone::exec
