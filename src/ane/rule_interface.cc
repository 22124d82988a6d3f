// SPDX-License-Identifier: Apache-2.0
// Rules about states, inputs, outputs, and how many functions and layers a package has.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "ane/limits.h"
#include "ane/program_walk.h"
#include "ane/rule_finders.h"
#include "base/progress.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace anemone::ane {
namespace {

// Fewest elements of a last axis that fill the 64 bytes to which the chip pads it, in fp16.
constexpr std::int64_t kAxisMultiple = 32;
constexpr std::uint64_t kAxisBytes = 64;
// Above these the rules report a finding, with sources in rules.cc.
constexpr std::size_t kMaxStates = 2;
constexpr std::size_t kMaxFunctions = 2;

bool has_states(const ir::Function& function) {
  return std::ranges::any_of(function.inputs,
                             [](const ir::Value* input) { return input->type.is_state(); });
}

void report_narrow_axis(const ir::Type& type, const Place& place, const Report& report) {
  const std::int64_t width = dimension(&type, -1);
  const std::uint64_t bytes = bytes_of(&type);
  if (width < 1 || width >= kAxisMultiple || bytes == 0) return;
  const std::uint64_t row = dtype_bytes(type.dtype, static_cast<std::uint64_t>(width));
  if (row == 0) return;
  const std::uint64_t padded = bytes / row * ((row + kAxisBytes - 1) / kAxisBytes * kAxisBytes);
  if (padded < bytes + kPageBytes) return;  // too little to be worth a change
  report(place, fmt::format("{} of {}: {}, padded to {}", to_string(type.shape),
                            dtype_name(type.dtype), format_bytes(bytes), format_bytes(padded)));
}

// The functions and inputs of the package that take a range of shapes.
std::set<std::pair<std::string_view, std::string_view>> names_of(
    const std::vector<RangeInput>& ranges) {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const RangeInput& each : ranges) names.emplace(each.function, each.input);
  return names;
}

}  // namespace

void find_state_widths(const Package& package, const Report& report) {
  for (const ir::Function* function : package.program.functions())
    for (const ir::Value* input : function->inputs) {
      const Shape& shape = input->type.shape;
      if (input->type.is_state() && !shape.empty() && shape.back() % kAxisMultiple != 0)
        report({Place::Kind::kState, function->name, input->name},
               fmt::format("a last dimension of {}", shape.back()));
    }
}

void find_state_shapes(const Package& package, const Report& report) {
  std::set<std::string> shapes;
  for (const ir::Function* function : package.program.functions())
    for (const ir::Value* input : function->inputs)
      if (input->type.is_state())
        shapes.insert(to_string(input->type.shape) + " of " +
                      std::string(dtype_name(input->type.dtype)));
  if (shapes.size() < 2) return;
  const std::size_t others = shapes.size() - 2;
  shapes.erase(std::next(shapes.begin(), 2), shapes.end());
  report({}, fmt::format("{}{}", fmt::join(shapes, " and "),
                         others == 0 ? "" : fmt::format(" and {} more", others)));
}

void find_many_states(const Package& package, const Report& report) {
  for (const ir::Function* function : package.program.functions()) {
    const auto count = static_cast<std::size_t>(std::ranges::count_if(
        function->inputs, [](const ir::Value* input) { return input->type.is_state(); }));
    if (count > kMaxStates)
      report({Place::Kind::kFunction, function->name, {}}, fmt::format("{} states", count));
  }
}

void find_narrow_axes(const Package& package, const Report& report) {
  for (const ir::Function* function : package.program.functions()) {
    for (const ir::Value* input : function->inputs)
      report_narrow_axis(input->type, {Place::Kind::kInput, function->name, input->name}, report);
    if (function->block == nullptr) continue;
    for (const ir::Value* output : function->block->outputs)
      report_narrow_axis(output->type, {Place::Kind::kOutput, function->name, output->name},
                         report);
  }
}

void find_ranges(const Package& package, const Report& report) {
  for (const RangeInput& each : package.ranges)
    report({Place::Kind::kInput, each.function, each.input}, "a range of shapes");
}

void find_ranges_with_states(const Package& package, const Report& report) {
  const auto ranges = names_of(package.ranges);
  for (const ir::Function* function : package.program.functions()) {
    if (!has_states(*function)) continue;
    bool has_range = false;
    bool has_fixed = false;
    for (const ir::Value* input : function->inputs) {
      if (input->type.is_state()) continue;
      (ranges.contains({function->name, input->name}) ? has_range : has_fixed) = true;
    }
    if (has_range && has_fixed)
      report({Place::Kind::kFunction, function->name, {}}, "states, fixed inputs and ranges");
  }
}

void find_many_functions(const Package& package, const Report& report) {
  const std::size_t count = package.program.functions().size();
  if (count > kMaxFunctions) report({}, fmt::format("{} functions", count));
}

void find_many_layers(const Package& package, const Report& report) {
  if (package.layers > kMaxLayers) report({}, fmt::format("{} layers", package.layers));
}

}  // namespace anemone::ane
