// SPDX-License-Identifier: Apache-2.0
#include "ane/placement.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ane/program_walk.h"
#include "ir/verifier.h"
#include "ops/products.h"
#include "tensor/shape.h"

namespace anemone::ane {
namespace {

// Convolutions of the function in which scales per block of inputs were seen on the chip: four in
// each of 24 layers, and one head. In functions of 8 and 12 they were not.
constexpr std::size_t kProductsOfResidentBlocks = 97;

std::uint64_t elements(const ir::Type* type) {
  if (type == nullptr) return 0;
  const auto count = checked_element_count(type->shape);
  return count.ok() && *count > 0 ? static_cast<std::uint64_t>(*count) : 0;
}

// Both saturate: dimensions of a stranger's file have any size.
std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? ~std::uint64_t{0} : product;
}

std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? ~std::uint64_t{0} : sum;
}

// Elements of a weight for each entry of its first dimension.
std::uint64_t elements_per_row(const ir::Type* weight) {
  const std::int64_t rows = dimension(weight, 0);
  return rows <= 0 ? 0 : elements(weight) / static_cast<std::uint64_t>(rows);
}

std::uint64_t multiplications_of(const ir::Function& function, const ir::Op& op) {
  // A weight of conv and linear has a row for each output, one of conv_transpose for each input.
  if (op.type == "conv" || op.type == "linear")
    return times(elements(output_of(op)), elements_per_row(type_of(op, "weight")));
  if (op.type == "conv_transpose")
    return times(elements(type_of(op, "x")), elements_per_row(type_of(op, "weight")));
  if (op.type != "matmul") return 0;
  const bool is_transposed =
      ir::ProgramInferContext(op, function.opset).boolean("transpose_x").value_or(false);
  const std::int64_t summed = dimension(type_of(op, "x"), is_transposed ? -2 : -1);
  return times(elements(output_of(op)), static_cast<std::uint64_t>(summed));
}

PlacedFunction measure(const SurveyedFunction& surveyed) {
  const ir::Function& function = *surveyed.function;
  PlacedFunction placed;
  placed.name = function.name;
  placed.weight_bytes = surveyed.weight_bytes;
  for (const ir::Value* input : function.inputs)
    (input->type.is_state() ? placed.state_bytes : placed.interface_bytes) +=
        bytes_of(&input->type);
  if (function.block != nullptr)
    for (const ir::Value* output : function.block->outputs)
      placed.interface_bytes += bytes_of(&output->type);
  for (std::size_t i = 0; i < surveyed.operations.size(); ++i) {
    const ir::Op& op = *surveyed.operations[i].op;
    if (!is_computed(op)) continue;
    PlacedOperation each;
    each.name = op.name;
    each.type = op.type;
    each.multiplications = multiplications_of(function, op);
    each.is_product = ops::is_product(op.type);
    each.weight_bytes = surveyed.operations[i].weight_bytes;
    each.index = i;
    placed.operations.push_back(std::move(each));
  }
  return placed;
}

// The laws that take a function off the chip, or operations of it by their index. The first
// finding, which is of the most severe law, decides.
struct FunctionLaws {
  const Law* whole = nullptr;
  std::map<std::size_t, const Law*> operations;
};

void set_first(const Law*& first, const Law* law) {
  if (first == nullptr) first = law;
}

void move_to_cpu(PlacedOperation& operation, const Law& law) {
  if (operation.device == Device::kCpu) return;
  operation.device = Device::kCpu;
  operation.law = &law;
}

}  // namespace

std::string_view device_name(Device device) {
  return device == Device::kNeuralEngine ? "ane" : "cpu";
}

std::size_t PlacedFunction::count(Device device) const {
  return static_cast<std::size_t>(std::ranges::count(operations, device, &PlacedOperation::device));
}

std::size_t PlacedFunction::products() const {
  return static_cast<std::size_t>(
      std::ranges::count(operations, true, &PlacedOperation::is_product));
}

std::size_t PlacedFunction::products_on(Device device) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      operations,
      [&](const PlacedOperation& each) { return each.is_product && each.device == device; }));
}

std::uint64_t PlacedFunction::multiplications() const {
  std::uint64_t sum = 0;
  for (const PlacedOperation& each : operations) sum = plus(sum, each.multiplications);
  return sum;
}

std::uint64_t PlacedFunction::multiplications_on(Device device) const {
  std::uint64_t sum = 0;
  for (const PlacedOperation& each : operations)
    if (each.device == device) sum = plus(sum, each.multiplications);
  return sum;
}

std::size_t PlacedFunction::transitions() const {
  std::size_t count = 0;
  for (std::size_t i = 1; i < operations.size(); ++i)
    if (operations[i].device != operations[i - 1].device) ++count;
  return count;
}

std::vector<PlacedFunction> place(const Package& package, std::span<const Finding> findings) {
  const Law* of_package = nullptr;
  std::map<std::string_view, FunctionLaws> by_function;
  for (const auto& [law, place, found, severity] : findings) {
    if (law->effect == Effect::kNone) continue;
    FunctionLaws& laws = by_function[place.function];
    if (place.kind == Place::Kind::kPackage)
      set_first(of_package, law);
    else if (law->effect == Effect::kFunctionOnCpu)
      set_first(laws.whole, law);
    else if (place.operation)
      laws.operations.emplace(*place.operation, law);
  }

  const Law* const blocks = find_law("block-scales");
  const Law* const resident = find_law("block-scales-with-states");
  const Law* const no_products = find_law("no-products-left");
  std::vector<PlacedFunction> out;
  for (const SurveyedFunction& surveyed : package.survey.functions) {
    PlacedFunction placed = measure(surveyed);
    const FunctionLaws& laws = by_function[surveyed.function->name];
    const std::size_t products = placed.products();
    const bool keeps_blocks =
        has_states(*surveyed.function) && products >= kProductsOfResidentBlocks;
    for (PlacedOperation& operation : placed.operations) {
      const auto it = laws.operations.find(operation.index);
      if (it == laws.operations.end()) continue;
      if (it->second == blocks && keeps_blocks)
        operation.law = resident;
      else
        move_to_cpu(operation, *it->second);
    }
    const Law* whole = of_package != nullptr ? of_package : laws.whole;
    if (whole == nullptr && products > 0 && placed.products_on(Device::kNeuralEngine) == 0)
      whole = no_products;
    if (whole != nullptr)
      for (PlacedOperation& operation : placed.operations) move_to_cpu(operation, *whole);
    out.push_back(std::move(placed));
  }
  return out;
}

Estimate estimate(const PlacedFunction& function, const Chip& chip) {
  const double bytes = static_cast<double>(
      plus(plus(function.weight_bytes, function.interface_bytes), function.state_bytes));
  const double by_bytes = bytes / (chip.gigabytes_per_second * 1e9);
  const double by_rate =
      static_cast<double>(function.multiplications()) / (chip.teramacs_per_second * 1e12);
  const double dispatches = static_cast<double>(1 + function.transitions());
  return {std::max(by_bytes, by_rate) + dispatches * kDispatchSeconds, by_bytes >= by_rate};
}

}  // namespace anemone::ane
