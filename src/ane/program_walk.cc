// SPDX-License-Identifier: Apache-2.0
#include "ane/program_walk.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace anemone::ane {
namespace {

void visit_block(const ir::Block& block, const std::function<void(const ir::Op&)>& visit) {
  for (const ir::Op* op : block.ops) {
    visit(*op);
    for (const ir::Block* inner : op->blocks) visit_block(*inner, visit);
  }
}

// Strides, axes and the like stand in the program and are no weights.
constexpr std::uint64_t kMinConstantBytes = 64;

void collect(const ir::Literal& literal, Constants& constants) {
  if (literal.data() == nullptr || literal.data()->size_bytes() < kMinConstantBytes) return;
  const void* place = literal.data().get();
  if (literal.data()->is_resident())
    if (const auto loaded = literal.data()->load(); loaded.ok() && !loaded->bytes.empty())
      place = loaded->bytes.data();
  constants[place] = literal.data()->size_bytes();
}

void collect(const ir::Op& op, Constants& constants) {
  for (const auto& [name, literal] : op.attributes) collect(literal, constants);
  for (const auto& [name, arguments] : op.inputs)
    for (const ir::Argument& argument : arguments)
      if (const auto* literal = std::get_if<ir::Literal>(&argument)) collect(*literal, constants);
}

}  // namespace

void collect_constants(const ir::Function& function, Constants& constants) {
  for_each_op(function, [&](const ir::Op& op) { collect(op, constants); });
}

void collect_constants(const ir::Op& op, std::string_view parameter, Constants& constants) {
  // A weight is restored in at most two steps, from a few constants each; a stranger's file may
  // have more.
  constexpr std::size_t kMostProducers = 64;
  std::vector<const ir::Op*> open{producer_of(op, parameter)};
  for (std::size_t at = 0; at < open.size() && at < kMostProducers; ++at) {
    const ir::Op* producer = open[at];
    if (producer == nullptr || is_computed(*producer)) continue;
    collect(*producer, constants);
    for (const auto& [name, arguments] : producer->inputs)
      open.push_back(producer_of(*producer, name));
  }
}

std::uint64_t total_bytes(const Constants& constants) {
  std::uint64_t total = 0;
  for (const auto& [place, bytes] : constants) total += bytes;
  return total;
}

bool has_states(const ir::Function& function) {
  return std::ranges::any_of(function.inputs,
                             [](const ir::Value* input) { return input->type.is_state(); });
}

bool is_computed(const ir::Op& op) {
  return !op.is_const() && !op.type.starts_with("constexpr_");
}

bool is_weighted(const ir::Op& op) {
  return op.type == "conv" || op.type == "conv_transpose" || op.type == "linear";
}

void for_each_op(const ir::Function& function, const std::function<void(const ir::Op&)>& visit) {
  if (function.block != nullptr) visit_block(*function.block, visit);
}

void for_each_op(const ir::Program& program,
                 const std::function<void(const ir::Function&, const ir::Op&)>& visit) {
  for (const ir::Function* function : program.functions())
    for_each_op(*function, [&](const ir::Op& op) { visit(*function, op); });
}

const ir::Type* type_of(const ir::Op& op, std::string_view parameter) {
  if (const auto it = op.inputs.find(parameter); it != op.inputs.end() && !it->second.empty()) {
    const ir::Argument& argument = it->second.front();
    if (const auto* value = std::get_if<ir::Value*>(&argument)) return &(*value)->type;
    return &std::get<ir::Literal>(argument).type();
  }
  const auto it = op.attributes.find(parameter);
  return it == op.attributes.end() ? nullptr : &it->second.type();
}

const ir::Type* output_of(const ir::Op& op) {
  return op.outputs.empty() ? nullptr : &op.outputs.front()->type;
}

const ir::Op* producer_of(const ir::Op& op, std::string_view parameter) {
  const ir::Value* value = op.input(parameter);
  return value == nullptr ? nullptr : value->producer;
}

std::int64_t dimension(const ir::Type* type, std::int64_t axis) {
  if (type == nullptr || type->kind != ir::Type::Kind::kTensor) return 0;
  const auto rank = static_cast<std::int64_t>(type->shape.size());
  const std::int64_t index = axis < 0 ? axis + rank : axis;
  if (index < 0 || index >= rank) return 0;
  const std::int64_t size = type->shape[static_cast<std::size_t>(index)];
  return size < 0 ? 0 : size;
}

std::uint64_t bytes_of(const ir::Type* type) {
  if (type == nullptr || (type->kind != ir::Type::Kind::kTensor && !type->is_state())) return 0;
  Shape shape = type->shape;
  for (std::int64_t& size : shape)
    if (size == kDynamic) size = 1;
  const auto count = checked_element_count(shape);
  return count.ok() ? dtype_bytes(type->dtype, static_cast<std::uint64_t>(*count)) : 0;
}

void report_operations(
    const Package& package, const Reporter& report,
    const std::function<std::string(const ir::Function&, const ir::Op&)>& describe) {
  for_each_op(package.program, [&](const ir::Function& function, const ir::Op& op) {
    if (!is_computed(op)) return;
    if (std::string found = describe(function, op); !found.empty())
      report(place_of(function, op), std::move(found));
  });
}

void report_types(const Package& package, const Reporter& report,
                  std::initializer_list<std::string_view> types) {
  report_operations(package, report, [&](const ir::Function&, const ir::Op& op) {
    return std::ranges::find(types, op.type) == types.end() ? std::string() : op.type;
  });
}

Place place_of(const ir::Function& function, const ir::Op& op) {
  return {Place::Kind::kOperation, function.name, op.name};
}

}  // namespace anemone::ane
