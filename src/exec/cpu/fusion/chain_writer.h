// SPDX-License-Identifier: Apache-2.0
// Elementwise operations of a program as the steps of a chain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "exec/cpu/fusion/chain_op.h"

namespace anemone::exec {

struct ChainMember {
  PreparedOp* op = nullptr;
  ChainNode node;
  int result() const { return op->outputs[0]; }
};

// Steps for members in the order of the program: each value is in a register from where it is made,
// or first used when it comes from outside, to its last use.
class ChainWriter {
 public:
  ChainWriter(const FusionGraph& graph, const Shape& shape, const std::vector<ChainMember>& members)
      : graph_(graph), shape_(shape), members_(members) {}

  // Whether there were registers enough.
  bool write() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      kernels::simd::ChainStep step = members_[i].node.step;
      const auto& [x, y] = members_[i].node.operands;
      if ((x >= 0 && !read(x, step.a)) || (y >= 0 && !read(y, step.b))) return false;
      for (const int reg : {x, y})
        if (reg >= 0 && !is_used_after(reg, i)) release(reg);
      const int out = take(members_[i].result());
      if (out < 0) return false;
      step.out = static_cast<std::uint8_t>(out);
      steps.push_back(step);
    }
    return true;
  }

  std::vector<int> registers;
  std::vector<kernels::simd::ChainInput> inputs;
  std::vector<kernels::simd::ChainStep> steps;

 private:
  bool read(int reg, std::uint8_t& place) {
    int found = find(reg);
    if (found < 0) {
      found = take(reg);
      if (found < 0 || registers.size() == kernels::simd::kChainInputs) return false;
      kernels::simd::ChainStep load;
      load.a = static_cast<std::uint8_t>(registers.size());
      load.out = static_cast<std::uint8_t>(found);
      steps.push_back(load);
      registers.push_back(reg);
      const TensorView* constant = graph_.constant(reg);
      inputs.push_back(
          *chain_input(constant != nullptr ? constant->shape : graph_.type(reg).shape, shape_));
    }
    place = static_cast<std::uint8_t>(found);
    return true;
  }

  int find(int reg) const {
    const auto at = std::ranges::find(holds_, reg);
    return at == std::end(holds_) ? -1 : static_cast<int>(at - std::begin(holds_));
  }
  int take(int reg) {
    const int at = find(kFree);
    if (at >= 0) holds_[at] = reg;
    return at;
  }
  void release(int reg) {
    if (const int at = find(reg); at >= 0) holds_[at] = kFree;
  }
  bool is_used_after(int reg, std::size_t i) const {
    return std::any_of(members_.begin() + static_cast<std::ptrdiff_t>(i) + 1, members_.end(),
                       [reg](const ChainMember& member) {
                         return std::ranges::find(member.node.operands, reg) !=
                                member.node.operands.end();
                       });
  }

  static constexpr int kFree = -2;

  const FusionGraph& graph_;
  const Shape& shape_;
  const std::vector<ChainMember>& members_;
  int holds_[kernels::simd::kChainRegisters] = {kFree, kFree, kFree, kFree, kFree, kFree,
                                                kFree, kFree, kFree, kFree, kFree, kFree,
                                                kFree, kFree, kFree, kFree};
};

}  // namespace anemone::exec
