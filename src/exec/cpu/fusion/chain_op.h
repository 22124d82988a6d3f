// SPDX-License-Identifier: Apache-2.0
// What a single operation is as a step of a chain.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "exec/cpu/fusion/graph.h"
#include "kernels/simd/chain.h"

namespace anemone::exec {

// The operands are registers, or -1 where the step has a constant or none.
struct ChainNode {
  kernels::simd::ChainStep step;
  std::array<int, 2> operands = {-1, -1};
};

// Nothing where the operation is no elementwise one over fp16 that chains know, or where a
// parameter of it is not constant. Shapes are not checked.
std::optional<ChainNode> chain_node(const FusionGraph& graph, const PreparedOp& op);

// How `part` broadcasts to `whole`; nothing where that is not along neighbouring axes.
std::optional<kernels::simd::ChainInput> chain_input(const Shape& part, const Shape& whole);

class ChainOp : public FusedOp {
 public:
  ChainOp(Shape shape, std::vector<kernels::simd::ChainInput> inputs,
          std::vector<kernels::simd::ChainStep> steps);
  std::string_view name() const override { return "chain"; }
  // Inputs that are as large as the output are read where it is written.
  bool can_overwrite(std::size_t i) const override {
    return inputs_[i].size == element_count(shape_);
  }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override;

 private:
  Shape shape_;
  std::vector<kernels::simd::ChainInput> inputs_;
  std::vector<kernels::simd::ChainStep> steps_;
};

}  // namespace anemone::exec
