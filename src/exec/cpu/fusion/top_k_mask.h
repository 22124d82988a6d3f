// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/fusion/fused_op.h"

namespace anemone::exec {

// Input: fp16 scores [1, count, T, 1]. Output: booleans of the same shape, true for those of each
// token that fewer than `k` others come before: the higher ones, and of equal ones the first.
class TopKMaskOp : public FusedOp {
 public:
  explicit TopKMaskOp(std::int64_t k) : k_(k) {}
  std::string_view name() const override { return "top_k_mask"; }
  Cost cost(const Shape& /*output*/, std::span<const Shape> /*states*/) const override {
    return {.experts = {.active = k_}};
  }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override;

  std::int64_t k() const { return k_; }

 private:
  const std::int64_t k_;
};

}  // namespace anemone::exec
