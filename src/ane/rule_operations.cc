// SPDX-License-Identifier: Apache-2.0
// Rules about operations and how large their operands are.
#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <string>
#include <string_view>

#include "ane/limits.h"
#include "ane/program_walk.h"
#include "ane/rule_finders.h"
#include "ir/verifier.h"
#include "tensor/shape.h"

namespace anemone::ane {
namespace {

// A function of 1,919 operations was seen to run.

bool is_product(const ir::Op& op) {
  return op.type == "conv" || op.type == "linear" || op.type == "matmul";
}

bool is_true(const ir::Function& function, const ir::Op& op, std::string_view parameter) {
  return ir::ProgramInferContext(op, function.opset).boolean(parameter).value_or(false);
}

// Over how many elements each element of the output sums; 0 when that is not known.
std::int64_t summed(const ir::Function& function, const ir::Op& op) {
  const ir::Type* x = type_of(op, "x");
  if (op.type == "conv") return dimension(x, 1);
  return dimension(x, op.type == "matmul" && is_true(function, op, "transpose_x") ? -2 : -1);
}

bool is_large(const ir::Type* type) {
  return bytes_of(type) > kPageBytes;
}

bool is_run_time(const ir::Op& op, const ir::Function& function, std::string_view parameter) {
  const ir::ProgramInferContext context(op, function.opset);
  return context.has(parameter) && !context.is_constant(parameter, 0);
}

// The tensor that an operation reads or writes by index; nullptr for other operations.
const ir::Type* indexed(const ir::Op& op) {
  for (const char* suffix : {"", "_along_axis", "_nd"}) {
    if (op.type == std::string("gather") + suffix) return type_of(op, "x");
    if (op.type == std::string("scatter") + suffix) return type_of(op, "data");
  }
  return nullptr;
}

}  // namespace

void find_wide_outputs(const Package& package, const Report& report) {
  for_each_op(package.program, [&](const ir::Function& function, const ir::Op& op) {
    const ir::Type* output = is_product(op) ? output_of(op) : nullptr;
    if (output == nullptr || output->shape.empty()) return;
    const std::int64_t widest = *std::ranges::max_element(output->shape);
    if (widest > kMaxChannels)
      report(place_of(function, op), fmt::format("{}: an output axis of {}", op.type, widest));
  });
}

void find_wide_inputs(const Package& package, const Report& report) {
  for_each_op(package.program, [&](const ir::Function& function, const ir::Op& op) {
    const std::int64_t inputs = is_product(op) ? summed(function, op) : 0;
    if (inputs > kMaxChannels)
      report(place_of(function, op), fmt::format("{}: {} inputs", op.type, inputs));
  });
}

void find_many_operations(const Package& package, const Report& report) {
  for (const ir::Function* function : package.program.functions()) {
    std::int64_t count = 0;
    for_each_op(*function, [&](const ir::Op& op) {
      if (!op.is_const() && !op.type.starts_with("constexpr_")) ++count;
    });
    if (count > kMaxOperations)
      report({Place::Kind::kFunction, function->name, {}}, fmt::format("{} operations", count));
  }
}

void find_softplus(const Package& package, const Report& report) {
  for_each_op(package.program, [&](const ir::Function& function, const ir::Op& op) {
    if (op.type == "softplus") report(place_of(function, op), "softplus");
  });
}

void find_depthwise_convs(const Package& package, const Report& report) {
  for_each_op(package.program, [&](const ir::Function& function, const ir::Op& op) {
    if (op.type != "conv") return;
    const std::int64_t channels = dimension(type_of(op, "x"), 1);
    const auto groups = ir::ProgramInferContext(op, function.opset).integer("groups");
    if (channels > 1 && groups == channels)
      report(place_of(function, op), fmt::format("{} groups of one channel", channels));
  });
}

void find_large_selects(const Package& package, const Report& report) {
  for_each_op(package.program, [&](const ir::Function& function, const ir::Op& op) {
    if (op.type == "select" && is_large(output_of(op)))
      report(place_of(function, op), "select of " + to_string(output_of(op)->shape));
  });
}

void find_argmax(const Package& package, const Report& report) {
  for_each_op(package.program, [&](const ir::Function& function, const ir::Op& op) {
    if (op.type == "reduce_argmax") report(place_of(function, op), "reduce_argmax");
  });
}

void find_slice_updates(const Package& package, const Report& report) {
  for_each_op(package.program, [&](const ir::Function& function, const ir::Op& op) {
    if (op.type == "slice_update" && is_large(type_of(op, "x")) &&
        (is_run_time(op, function, "begin") || is_run_time(op, function, "end")))
      report(place_of(function, op), "slice_update of " + to_string(type_of(op, "x")->shape));
  });
}

void find_gathers(const Package& package, const Report& report) {
  for_each_op(package.program, [&](const ir::Function& function, const ir::Op& op) {
    const ir::Type* data = indexed(op);
    if (is_large(data) && is_run_time(op, function, "indices"))
      report(place_of(function, op), fmt::format("{} of {}", op.type, to_string(data->shape)));
  });
}

}  // namespace anemone::ane
