// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/fusion/fused_op.h"

namespace anemone::exec {

// Inputs: queries [1, H, T, D], keys and values of the step [1, KV, T, D], write mask [1, 1, S, T],
// attention mask [1, 1, T, S]; states: caches of keys and values [1, KV, C, D],
// of whose C positions the first S are used. Puts the step's
// tokens into the positions that the write mask marks, and gives softmax(factor * queries @ keys^T
// + mask) @ values, [1, H, T, D]. Sinks, one per query head, join the scores in the softmax.
//
// The masks decide at run time: where their rows are one-hot, and zero in one run of positions and
// out of every score's reach elsewhere, only the tokens that are there are touched; any other mask
// is computed with as written.
class CachedAttentionOp : public FusedOp {
 public:
  CachedAttentionOp(float factor, std::int64_t positions, std::int64_t capacity,
                    std::vector<float> sinks)
      : factor_(factor), positions_(positions), capacity_(capacity), sinks_(std::move(sinks)) {}
  std::string_view name() const override { return "cached_attention"; }
  // Scores and their mix of values, over every position.
  Cost cost(const Shape& output, std::span<const Shape> /*states*/) const override {
    return {0, 4 * element_count(output) * positions_};
  }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override;

 private:
  void attend(std::span<FusedCall> calls, const FusedContext& context) const;
  void attend_heads(const FusedCall& call, std::int64_t t, std::int64_t kv, std::int64_t head,
                    std::int64_t rows, const FusedContext& context) const;
  void attend_many(std::span<FusedCall> calls, const FusedContext& context) const;

  const float* sink(std::int64_t head) const {
    return sinks_.empty() ? nullptr : sinks_.data() + head;
  }

  float factor_;
  std::int64_t positions_;    // S
  std::int64_t capacity_;     // C
  std::vector<float> sinks_;  // of each query head, or none
};

}  // namespace anemone::exec
