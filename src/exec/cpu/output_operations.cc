// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/output_operations.h"

#include <algorithm>
#include <vector>

#include "exec/cpu/fusion/fused_op.h"

namespace anemone::exec {
namespace {

// Whether states may lack something after a run that leaves out the operation. Those other than
// kernels, views and fused ones are taken to write to some.
bool has_effect(const PreparedOp& op) {
  if (op.kind == PreparedOp::Kind::kKernel || op.kind == PreparedOp::Kind::kView) return false;
  if (op.kind != PreparedOp::Kind::kFused) return true;
  return !op.fused_states.empty() || !op.fused_caches.empty();
}

void add_uses(const PreparedOp& op, std::vector<bool>& is_needed);
void add_uses(const PreparedBlock& block, std::vector<bool>& is_needed) {
  for (const PreparedOp& op : block.ops) add_uses(op, is_needed);
  for (const int reg : block.outputs) is_needed[static_cast<std::size_t>(reg)] = true;
}
void add_uses(const PreparedOp& op, std::vector<bool>& is_needed) {
  for (const Operand& operand : op.operands)
    for (const int reg : operand.registers) is_needed[static_cast<std::size_t>(reg)] = true;
  for (const PreparedBlock& inner : op.blocks) add_uses(inner, is_needed);
}

}  // namespace

void find_operations_for_outputs(PreparedFunction& function) {
  std::vector<bool> is_needed(function.initial.size());  // [register], for more than outputs
  std::vector<PreparedOp>& ops = function.block.ops;
  for (std::size_t k = ops.size(); k-- > 0;) {
    PreparedOp& op = ops[k];
    op.gives_for_outputs = std::ranges::none_of(
        op.outputs, [&](int reg) { return is_needed[static_cast<std::size_t>(reg)]; });
    op.is_for_outputs = op.gives_for_outputs && !has_effect(op);
    if (op.is_for_outputs) continue;
    const std::vector<std::size_t> stored = op.gives_for_outputs && op.fused != nullptr
                                                ? op.fused->stored_inputs()
                                                : std::vector<std::size_t>();
    for (const std::size_t i : stored)
      is_needed[static_cast<std::size_t>(op.operands.front().registers[i])] = true;
    if (stored.empty()) add_uses(op, is_needed);
  }
}

}  // namespace anemone::exec
