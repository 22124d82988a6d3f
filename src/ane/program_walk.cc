// SPDX-License-Identifier: Apache-2.0
#include "ane/program_walk.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "ane/limits.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace anemone::ane {

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

void for_each_op(const Package& package,
                 const std::function<void(const ir::Function& function, const ir::Op& op,
                                          std::size_t index)>& visit) {
  for (const SurveyedFunction& each : package.survey.functions)
    for (std::size_t i = 0; i < each.operations.size(); ++i)
      visit(*each.function, *each.operations[i].op, i);
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

bool is_large(const ir::Type* type) {
  return bytes_of(type) > kPageBytes;
}

void report_operations(
    const Package& package, const Reporter& report,
    const std::function<std::string(const ir::Function&, const ir::Op&)>& describe) {
  for_each_op(package, [&](const ir::Function& function, const ir::Op& op, std::size_t index) {
    if (!is_computed(op)) return;
    if (std::string found = describe(function, op); !found.empty())
      report(place_of(function, op, index), std::move(found));
  });
}

void report_types(const Package& package, const Reporter& report,
                  std::initializer_list<std::string_view> types) {
  report_operations(package, report, [&](const ir::Function&, const ir::Op& op) {
    return std::ranges::find(types, op.type) == types.end() ? std::string() : op.type;
  });
}

Place place_of(const ir::Function& function, const ir::Op& op, std::size_t index) {
  return {Place::Kind::kOperation, function.name, op.name, index};
}

}  // namespace anemone::ane
