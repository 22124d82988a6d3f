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
      for (const int slot : {x, y})
        if (slot >= 0 && !is_used_after(slot, i)) release(slot);
      const int out = take(members_[i].result());
      if (out < 0) return false;
      step.out = static_cast<std::uint8_t>(out);
      steps.push_back(step);
    }
    return true;
  }

  std::vector<int> slots;
  std::vector<kernels::simd::ChainInput> inputs;
  std::vector<kernels::simd::ChainStep> steps;

 private:
  bool read(int slot, std::uint8_t& place) {
    int found = find(slot);
    if (found < 0) {
      found = take(slot);
      if (found < 0 || slots.size() == kernels::simd::kChainInputs) return false;
      kernels::simd::ChainStep load;
      load.a = static_cast<std::uint8_t>(slots.size());
      load.out = static_cast<std::uint8_t>(found);
      steps.push_back(load);
      slots.push_back(slot);
      const TensorView* constant = graph_.constant(slot);
      inputs.push_back(
          *chain_input(constant != nullptr ? constant->shape : graph_.type(slot).shape, shape_));
    }
    place = static_cast<std::uint8_t>(found);
    return true;
  }

  int find(int slot) const {
    const auto at = std::ranges::find(holds_, slot);
    return at == std::end(holds_) ? -1 : static_cast<int>(at - std::begin(holds_));
  }
  int take(int slot) {
    const int at = find(kFree);
    if (at >= 0) holds_[at] = slot;
    return at;
  }
  void release(int slot) {
    if (const int at = find(slot); at >= 0) holds_[at] = kFree;
  }
  bool is_used_after(int slot, std::size_t i) const {
    return std::any_of(members_.begin() + static_cast<std::ptrdiff_t>(i) + 1, members_.end(),
                       [slot](const ChainMember& member) {
                         return std::ranges::find(member.node.operands, slot) !=
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
