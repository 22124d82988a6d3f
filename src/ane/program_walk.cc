// SPDX-License-Identifier: Apache-2.0
#include "ane/program_walk.h"

#include <variant>

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

}  // namespace

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
  if (type == nullptr || type->kind != ir::Type::Kind::kTensor) return 0;
  Shape shape = type->shape;
  for (std::int64_t& size : shape)
    if (size == kDynamic) size = 1;
  const auto count = checked_element_count(shape);
  return count.ok() ? dtype_bytes(type->dtype, static_cast<std::uint64_t>(*count)) : 0;
}

Place place_of(const ir::Function& function, const ir::Op& op) {
  return {Place::Kind::kOperation, function.name, op.name};
}

}  // namespace anemone::ane
