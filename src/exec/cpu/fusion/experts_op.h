// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "exec/cpu/fusion/chain_op.h"
#include "exec/cpu/fusion/projection_op.h"

namespace anemone::exec {

// One gated MLP: projections of the input, elementwise operations over parts of what they give,
// and a projection of the result.
struct Expert {
  struct Part {
    std::size_t projection = 0;
    std::int64_t offset = 0;  // of its first channel
  };
  std::vector<ProjectionOp> in;
  std::vector<Part> parts;  // inputs of the steps, each as wide as the input of `out`
  std::vector<kernels::simd::ChainStep> steps;
  ProjectionOp out;

  std::int64_t weight_bytes() const;
};

// The sum over experts of weight * expert(x), in their order, and what is added to it. Inputs: x,
// one weight of each expert for every token, then the addend if there is one. An expert is read if
// a token's weight for it is not 0, and runs on those tokens alone.
class ExpertsOp : public FusedOp {
 public:
  ExpertsOp(std::vector<Expert> experts, ExpertCounts counts, bool is_channel_major,
            bool has_addend)
      : experts_(std::move(experts)),
        counts_(counts),
        is_channel_major_(is_channel_major),
        has_addend_(has_addend) {}

  std::string_view name() const override { return "experts"; }
  Cost cost(const Shape& output, std::span<const Shape> states) const override;
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override;

 private:
  // Element (t, c) of a call's tensor; the channels of a token lie side by side or T apart.
  struct Layout {
    std::int64_t token = 1;
    std::int64_t channel = 1;
  };
  Layout layout(std::int64_t tokens, std::int64_t channels) const {
    return is_channel_major_ ? Layout{1, tokens} : Layout{channels, 1};
  }
  class Run;

  const std::vector<Expert> experts_;
  const ExpertCounts counts_;
  const bool is_channel_major_;
  const bool has_addend_;
};

}  // namespace anemone::exec
