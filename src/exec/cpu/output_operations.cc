// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/output_operations.h"

#include <algorithm>

#include "exec/cpu/fusion/fused_op.h"

namespace anemone::exec {
namespace {

const PreparedCache& cache_of(const PreparedFunction& function, int index) {
  return function.caches[static_cast<std::size_t>(index)];
}

// Whether it may write to a state or a cache of `fused`.
bool shares_states(const PreparedFunction& function, const PreparedOp& op,
                   const PreparedOp& fused) {
  if (op.kind != PreparedOp::Kind::kFused)
    return std::ranges::any_of(fused.fused_states,
                               [&](const StateRow& row) { return row.state == op.state; });
  return std::ranges::any_of(fused.fused_states,
                             [&](const StateRow& row) {
                               return std::ranges::find(op.fused_states, row.state,
                                                        &StateRow::state) != op.fused_states.end();
                             }) ||
         std::ranges::any_of(fused.fused_caches, [&](int cache) {
           return std::ranges::any_of(op.fused_caches, [&](int other) {
             return cache_of(function, cache).input == cache_of(function, other).input;
           });
         });
}

bool have_same_states(const PreparedFunction& function, const PreparedOp& a, const PreparedOp& b) {
  return std::ranges::equal(a.fused_states, b.fused_states,
                            [](const StateRow& x, const StateRow& y) {
                              return x.state == y.state && x.row == y.row;
                            }) &&
         std::ranges::equal(a.fused_caches, b.fused_caches, [&](int x, int y) {
           const PreparedCache& one = cache_of(function, x);
           const PreparedCache& other = cache_of(function, y);
           return one.kind == other.kind && one.input == other.input && one.output == other.output;
         });
}

// Whether `late` stores what `early` has stored, in the same states.
bool stores_the_same(const PreparedFunction& function, const PreparedOp& early,
                     const PreparedOp& late) {
  if (early.kind != PreparedOp::Kind::kFused || early.fused->name() != late.fused->name())
    return false;
  const std::vector<std::size_t> stored = late.fused->stored_inputs();
  return !stored.empty() && stored == early.fused->stored_inputs() &&
         have_same_states(function, early, late) && std::ranges::all_of(stored, [&](std::size_t i) {
           return early.operands.front().registers[i] == late.operands.front().registers[i];
         });
}

// Whether states lack something after a run that leaves out operation k. Operations other than
// kernels, views and fused ones are taken to write to some.
bool has_effect(const PreparedFunction& function, std::size_t k) {
  const std::vector<PreparedOp>& ops = function.block.ops;
  const PreparedOp& op = ops[k];
  if (op.kind == PreparedOp::Kind::kKernel || op.kind == PreparedOp::Kind::kView) return false;
  if (op.kind != PreparedOp::Kind::kFused) return true;
  if (op.fused_states.empty() && op.fused_caches.empty()) return false;
  for (std::size_t i = k; i-- > 0;)
    if (shares_states(function, ops[i], op)) return !stores_the_same(function, ops[i], op);
  return true;
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
    op.is_for_outputs = op.gives_for_outputs && !has_effect(function, k);
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
