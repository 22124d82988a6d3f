// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/state_stretches.h"

#include <algorithm>
#include <map>

namespace anemone::exec {
namespace {

bool is_access(const PreparedOp& op) {
  return op.kind == PreparedOp::Kind::kReadState || op.kind == PreparedOp::Kind::kWriteState ||
         op.kind == PreparedOp::Kind::kUpdateState;
}

bool accesses_states(const PreparedBlock& block) {
  return std::ranges::any_of(block.ops, [](const PreparedOp& op) {
    return is_access(op) || std::ranges::any_of(op.blocks, accesses_states);
  });
}

bool uses(const PreparedOp& op, int reg);
bool uses(const PreparedBlock& block, int reg) {
  return std::ranges::find(block.outputs, reg) != block.outputs.end() ||
         std::ranges::any_of(block.ops, [&](const PreparedOp& op) { return uses(op, reg); });
}
bool uses(const PreparedOp& op, int reg) {
  return std::ranges::any_of(op.operands,
                             [&](const Operand& operand) {
                               return std::ranges::find(operand.registers, reg) !=
                                      operand.registers.end();
                             }) ||
         std::ranges::any_of(op.blocks, [&](const PreparedBlock& b) { return uses(b, reg); });
}

void move_reads_down(std::vector<PreparedOp>& ops) {
  for (std::size_t i = ops.size(); i-- > 0;) {
    if (ops[i].kind != PreparedOp::Kind::kReadState) continue;
    const int state = ops[i].state;
    const int value = ops[i].outputs[0];
    const auto begin = ops.begin() + static_cast<std::ptrdiff_t>(i);
    const auto stop = std::find_if(begin + 1, ops.end(), [&](const PreparedOp& op) {
      return uses(op, value) || (is_access(op) && op.state == state);
    });
    if (stop != ops.end()) std::rotate(begin, begin + 1, stop);
  }
}

}  // namespace

void find_stretches(PreparedFunction& function) {
  std::vector<PreparedOp>& ops = function.block.ops;
  function.is_batchable = std::ranges::none_of(
      ops, [](const PreparedOp& op) { return std::ranges::any_of(op.blocks, accesses_states); });
  function.stretches.clear();
  if (!function.is_batchable) return;
  move_reads_down(ops);
  std::map<int, PreparedFunction::Stretch> of_state;
  for (std::size_t k = 0; k < ops.size(); ++k)
    if (is_access(ops[k]))
      of_state.try_emplace(ops[k].state, PreparedFunction::Stretch{k, k}).first->second.end = k + 1;
  std::vector<PreparedFunction::Stretch> all;
  for (const auto& [state, stretch] : of_state) all.push_back(stretch);
  std::ranges::sort(all, {}, &PreparedFunction::Stretch::begin);
  for (const PreparedFunction::Stretch& next : all) {
    if (function.stretches.empty() || function.stretches.back().end <= next.begin)
      function.stretches.push_back(next);
    else
      function.stretches.back().end = std::max(function.stretches.back().end, next.end);
  }
}

}  // namespace anemone::exec
