// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"

namespace anemone::exec {
namespace {

// The budget of producer() calls of all matchers together; when it is spent, producer() finds
// nothing more, so that planning ends in time. A matcher needs a few calls for an operation; that
// of experts walks a sum of hundreds of terms, but only once.
constexpr std::int64_t kLookUpsPerOp = 128;
constexpr std::int64_t kMinLookUps = 1 << 22;

bool is_removed(const PreparedOp& op) {
  return op.kind == PreparedOp::Kind::kRemoved;
}

}  // namespace

FusionGraph::FusionGraph(PreparedFunction& function)
    : function_(function),
      look_ups_left_(kMinLookUps +
                     kLookUpsPerOp * static_cast<std::int64_t>(function.block.ops.size())) {
  count();
  sliced_states_ = SlicedStates(*this);
}

void FusionGraph::count() {
  const std::size_t registers = function_.initial.size();
  producers_.assign(registers, nullptr);
  uses_.assign(registers, 0);
  users_.assign(registers, {});
  for (PreparedOp& op : ops())
    for (const int reg : op.outputs) producers_[static_cast<std::size_t>(reg)] = &op;
  for (PreparedOp& op : ops()) {
    if (is_removed(op)) continue;
    add_uses(op);
    for (const PreparedBlock& inner : op.blocks) count_uses(inner);
  }
  for (const int reg : function_.block.outputs) ++uses_[static_cast<std::size_t>(reg)];
  states_.assign(function_.states.size(), {});
  count_accesses(function_.block, true);
}

void FusionGraph::count_accesses(PreparedBlock& block, bool is_outermost) {
  for (PreparedOp& op : block.ops) {
    const bool is_write = op.kind == PreparedOp::Kind::kWriteState;
    if (is_write || op.kind == PreparedOp::Kind::kReadState) {
      StateUse& use = states_[static_cast<std::size_t>(op.state)];
      ++use.accesses;
      if (is_write && is_outermost) use.write = &op;
      use.is_inside = use.is_inside || !is_outermost;
    }
    for (const StateRow& row : op.fused_states)
      ++states_[static_cast<std::size_t>(row.state)].accesses;
    for (PreparedBlock& inner : op.blocks) count_accesses(inner, false);
  }
}

PreparedOp* FusionGraph::only_write(int state) const {
  const StateUse& use = states_[static_cast<std::size_t>(state)];
  return use.accesses == 2 ? use.write : nullptr;
}

void FusionGraph::count_uses(const PreparedBlock& block) {
  for (const PreparedOp& op : block.ops) {
    for (const Operand& operand : op.operands)
      for (const int reg : operand.registers) ++uses_[static_cast<std::size_t>(reg)];
    for (const PreparedBlock& inner : op.blocks) count_uses(inner);
  }
  for (const int reg : block.outputs) ++uses_[static_cast<std::size_t>(reg)];
}

void FusionGraph::add_uses(PreparedOp& op) {
  for (const Operand& operand : op.operands)
    for (const int reg : operand.registers) {
      ++uses_[static_cast<std::size_t>(reg)];
      auto& users = users_[static_cast<std::size_t>(reg)];
      if (users.empty() || users.back() != &op) users.push_back(&op);
    }
}

void FusionGraph::drop_uses(PreparedOp& op) {
  for (const Operand& operand : op.operands)
    for (const int reg : operand.registers) --uses_[static_cast<std::size_t>(reg)];
}

PreparedOp* FusionGraph::producer(int reg, std::string_view op) const {
  if (reg < 0) return nullptr;
  PreparedOp* found = producer(reg);
  return found != nullptr && is_statically_checked(*found) && found->op->type == op ? found
                                                                                    : nullptr;
}

const TensorView* FusionGraph::constant(int reg) const {
  if (reg < 0) return nullptr;
  const Register& value = function_.initial[static_cast<std::size_t>(reg)];
  return value.view.data == nullptr || value.text ? nullptr : &value.view;
}

std::optional<double> FusionGraph::scalar(int reg) const {
  const TensorView* value = constant(reg);
  if (value == nullptr || value->size() != 1) return std::nullopt;
  if (value->dtype == DType::kBool) return value->data[0] != std::byte{0} ? 1.0 : 0.0;
  return static_cast<double>(to_floats(*value).front());
}

std::optional<std::size_t> FusionGraph::input(int reg) const {
  const auto found = std::ranges::find(function_.inputs, reg, &PreparedInput::reg);
  if (found == function_.inputs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - function_.inputs.begin());
}

std::optional<std::size_t> FusionGraph::output(int reg) const {
  const auto found = std::ranges::find(function_.outputs, reg, &PreparedOutput::reg);
  if (found == function_.outputs.end() ||
      std::ranges::count(function_.outputs, reg, &PreparedOutput::reg) != 1)
    return std::nullopt;
  return static_cast<std::size_t>(found - function_.outputs.begin());
}

int FusionGraph::argument(const PreparedOp& op, std::string_view name, std::size_t i) {
  const Operand* found = op.operand(name);
  return found == nullptr || found->registers.size() <= i ? -1 : found->registers[i];
}

std::optional<double> FusionGraph::number(const PreparedOp& op, std::string_view name) const {
  return scalar(argument(op, name));
}

std::vector<std::int64_t> FusionGraph::ints(const PreparedOp& op, std::string_view name) const {
  std::vector<std::int64_t> out;
  const TensorView* value = constant(argument(op, name));
  if (value == nullptr) return out;
  for (std::int64_t i = 0; i < value->size(); ++i) out.push_back(element_as_int(*value, i));
  return out;
}

bool FusionGraph::flag(const PreparedOp& op, std::string_view name) const {
  return number(op, name).value_or(0) != 0;
}

bool FusionGraph::is_transposed(const PreparedOp& matmul) const {
  return flag(matmul, "transpose_x") || flag(matmul, "transpose_y");
}

std::optional<std::array<int, 2>> FusionGraph::joined_pair(const PreparedOp& concat,
                                                           int axis) const {
  const double own = number(concat, "axis").value_or(99);
  const Operand* values = concat.operand("values");
  if ((own != axis && own != axis - 4) || flag(concat, "interleave") || values == nullptr ||
      values->registers.size() != 2 || type(values->registers[0]).shape.size() != 4)
    return std::nullopt;
  return std::array{values->registers[0], values->registers[1]};
}

int FusionGraph::other(const PreparedOp& op, int wanted) {
  const int x = argument(op, "x");
  const int y = argument(op, "y");
  return x == wanted ? y : y == wanted ? x : -1;
}

bool FusionGraph::is_closed(const Fusion& fusion) const {
  std::unordered_set<const PreparedOp*> inside(fusion.inner.begin(), fusion.inner.end());
  inside.insert(fusion.root);
  std::unordered_map<int, int> uses_inside;
  for (const PreparedOp* op : inside)
    for (const Operand& operand : op->operands)
      for (const int reg : operand.registers) ++uses_inside[reg];
  // A cache that is replaced is also an output of the function. The fusion writes it, so this use
  // is inside.
  for (const PreparedCache& cache : fusion.caches)
    if (cache.kind == CacheBinding::Kind::kReplace)
      ++uses_inside[function_.outputs[cache.output].reg];
  // Uses by inner blocks and by other outputs of the function are in use_count() but never inside,
  // so they keep the value.
  return std::ranges::all_of(fusion.inner, [&](const PreparedOp* op) {
    return std::ranges::all_of(op->outputs, [&](int reg) {
      const auto found = uses_inside.find(reg);
      return use_count(reg) == (found == uses_inside.end() ? 0 : found->second);
    });
  });
}

void FusionGraph::apply(Fusion fusion) {
  PreparedOp& root = *fusion.root;
  drop_uses(root);
  root.kind = PreparedOp::Kind::kFused;
  root.fused = std::move(fusion.op);
  root.operands = {Operand{"inputs", std::move(fusion.inputs)}};
  root.fused_states = std::move(fusion.states);
  for (PreparedCache& cache : fusion.caches) {
    root.fused_caches.push_back(static_cast<int>(function_.caches.size()));
    function_.caches.push_back(std::move(cache));
  }
  add_uses(root);
  for (PreparedOp* op : fusion.inner) remove(*op);
}

void FusionGraph::remove(PreparedOp& op) {
  drop_uses(op);
  op.kind = PreparedOp::Kind::kRemoved;
  op.operands.clear();
}

void FusionGraph::replace_uses(int from, int to) {
  for (PreparedOp* user : std::vector(users(from))) {
    if (is_removed(*user)) continue;
    drop_uses(*user);
    for (Operand& operand : user->operands) std::ranges::replace(operand.registers, from, to);
    add_uses(*user);
  }
}

bool FusionGraph::is_view(const PreparedOp& op) const {
  if (!is_statically_checked(op)) return false;
  const std::string& name = op.op->type;
  if (name == "reshape" || name == "expand_dims" || name == "squeeze") return true;
  const int x = argument(op, "x");
  if (x < 0 || !type(x).is_tensor() || !is_static(type(x).shape)) return false;
  const Shape& shape = type(x).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (name == "transpose") {
    // Axes of one may go anywhere, the others keep their order.
    std::int64_t last = -1;
    const auto permutation = ints(op, "perm");
    if (static_cast<std::int64_t>(permutation.size()) != rank) return false;
    for (std::int64_t axis : permutation) {
      if (axis < 0) axis += rank;
      if (shape[static_cast<std::size_t>(axis)] == 1) continue;
      if (axis < last) return false;
      last = axis;
    }
    return true;
  }
  if (name == "split") {
    auto axis = static_cast<std::int64_t>(number(op, "axis").value_or(-99));
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return false;
    for (std::int64_t i = 0; i < axis; ++i)
      if (shape[static_cast<std::size_t>(i)] != 1) return false;
    return !is_sub_byte(type(x).dtype);
  }
  return false;
}

void FusionGraph::remove_unread_updates() {
  sliced_states_.remove_unread(*this);
  sliced_states_ = {};
}

void FusionGraph::drop_unused() {
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (auto it = ops().rbegin(); it != ops().rend(); ++it) {
      PreparedOp& op = *it;
      const bool can_go = op.kind == PreparedOp::Kind::kKernel && !op.schema->has_side_effects;
      const bool is_used = std::ranges::any_of(op.outputs, [&](int s) { return use_count(s) > 0; });
      if (!can_go || is_used) continue;
      remove(op);
      is_changed = true;
    }
  }
  std::erase_if(ops(), is_removed);
  count();
}

}  // namespace anemone::exec
