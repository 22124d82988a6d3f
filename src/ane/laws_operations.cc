// SPDX-License-Identifier: Apache-2.0
// Laws about operations and how large their operands are.
#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <initializer_list>
#include <string>
#include <string_view>

#include "ane/law_tables.h"
#include "ane/limits.h"
#include "ane/program_walk.h"
#include "ir/verifier.h"
#include "tensor/shape.h"

namespace anemone::ane {
namespace {

using enum Evidence::Kind;
using enum Hint::Kind;

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

void find_wide_outputs(const Package& package, const Reporter& report) {
  for_each_op(package, [&](const ir::Function& function, const ir::Op& op, std::size_t index) {
    const ir::Type* output = is_product(op) ? output_of(op) : nullptr;
    if (output == nullptr || output->shape.empty()) return;
    const std::int64_t widest = *std::ranges::max_element(output->shape);
    if (widest > kMaxChannels)
      report(place_of(function, op, index),
             fmt::format("{}: an output axis of {}", op.type, widest));
  });
}

void find_wide_inputs(const Package& package, const Reporter& report) {
  for_each_op(package, [&](const ir::Function& function, const ir::Op& op, std::size_t index) {
    const std::int64_t inputs = is_product(op) ? summed(function, op) : 0;
    if (inputs > kMaxChannels)
      report(place_of(function, op, index), fmt::format("{}: {} inputs", op.type, inputs));
  });
}

void find_softplus(const Package& package, const Reporter& report) {
  report_types(package, report, {"softplus"});
}

void find_depthwise_convs(const Package& package, const Reporter& report) {
  for_each_op(package, [&](const ir::Function& function, const ir::Op& op, std::size_t index) {
    if (op.type != "conv") return;
    const std::int64_t channels = dimension(type_of(op, "x"), 1);
    const auto groups = ir::ProgramInferContext(op, function.opset).integer("groups");
    if (channels > 1 && groups == channels)
      report(place_of(function, op, index), fmt::format("{} groups of one channel", channels));
  });
}

void find_large_selects(const Package& package, const Reporter& report) {
  for_each_op(package, [&](const ir::Function& function, const ir::Op& op, std::size_t index) {
    if (op.type == "select" && is_large(output_of(op)))
      report(place_of(function, op, index), "select of " + to_string(output_of(op)->shape));
  });
}

void find_argmax(const Package& package, const Reporter& report) {
  report_types(package, report, {"reduce_argmax"});
}

void find_slice_updates(const Package& package, const Reporter& report) {
  for_each_op(package, [&](const ir::Function& function, const ir::Op& op, std::size_t index) {
    if (op.type == "slice_update" && is_large(type_of(op, "x")) &&
        (is_run_time(op, function, "begin") || is_run_time(op, function, "end")))
      report(place_of(function, op, index),
             "slice_update of " + to_string(type_of(op, "x")->shape));
  });
}

void find_gathers(const Package& package, const Reporter& report) {
  for_each_op(package, [&](const ir::Function& function, const ir::Op& op, std::size_t index) {
    const ir::Type* data = indexed(op);
    if (is_large(data) && is_run_time(op, function, "indices"))
      report(place_of(function, op, index),
             fmt::format("{} of {}", op.type, to_string(data->shape)));
  });
}

constexpr Law kOperationLaws[] = {
    {.id = "wide-output",
     .severity = Severity::kRefused,
     .effect = Effect::kOperationOnCpu,
     .statement = "an axis of the output of conv, linear or matmul is longer than 16,384",
     .evidence = {{kMeasured, "mobius#61", "\"width > 16384\" (M2)"},
                  {kMeasured, "ANEForge#152", "32,000 refused (M1, M2 Pro)"},
                  {kStated, "0seba's card of Qwen2", "16,384 at most"},
                  {kMeasured, "ane-book", "heads of up to 87,424 channels on the chip (M4 Max)",
                   kAgainst},
                  {kMeasured, "maderix/ANE",
                   "a classifier of 32,000 compiled through the private API", kAgainst}},
     .remedy = "split it into several operations of at most 16,384 in the same package",
     .hints = {{kForm, R"({"projections": "split", "head-outputs": "split"})"},
               {kRewrite, "make several operations over ranges of at most 16,384 outputs"}},
     // Up to the first generation that was seen to take more.
     .generations = {14, 17},
     .find = find_wide_outputs},
    {.id = "softplus",
     .severity = Severity::kRefused,
     .statement = "softplus is 0 where its input is above about 10.4",
     .evidence = {{kMeasured, "coremltools#2687", "0 above about 10.4"},
                  {kMeasured, "coremltools#2814", "could not be brought onto the chip (M2)"}},
     .remedy = "max(x, 0) + log(1 + exp(-abs(x))) (softplus: arithmetic in a form file)",
     .hints = {{kForm, R"({"softplus": "arithmetic"})"},
               {kRewrite, "max(x, 0) + log(1 + exp(-abs(x)))"}},
     .find = find_softplus},
    {.id = "depthwise-conv",
     .severity = Severity::kSlow,
     .effect = Effect::kOperationOnCpu,
     .statement = "a convolution with a group for each channel",
     .evidence = {{kMeasured, "CoreML-LLM LFM2 findings", "on the CPU, about 5 ms each time"}},
     .remedy = "multiply by each tap and add",
     .hints =
         {{kForm, R"({"taps": "arithmetic"})"},
          {kRewrite,
           "multiply the input, moved by a step for each tap, by the tap, and add the products"}},
     .find = find_depthwise_convs},
    {.id = "large-select",
     .severity = Severity::kSlow,
     .effect = Effect::kOperationOnCpu,
     .statement = "select on a tensor of more than 16 KiB",
     .evidence = {{kMeasured, "CoreML-LLM LFM2 findings", "seen on the CPU"},
                  {kMeasured, "onnxsim#1400", "a broadcast select broke the plan"}},
     .remedy = "multiply by a mask and add",
     .hints = {{kForm, R"({"routing": "arithmetic"})"},
               {kRewrite, "mask * a + (1 - mask) * b, with a mask of 0 and 1 in fp16"}},
     .find = find_large_selects},
    {.id = "wide-input",
     .severity = Severity::kContested,
     .statement = "conv, linear or matmul sums over more than 16,384 inputs",
     .evidence = {{kMeasured, "larql#312", "16,384 at most"},
                  {kMeasured, "ane-book", "20,480 run (M4 Max)", kAgainst}},
     .remedy = "split the inputs and add the parts",
     .hints =
         {{kForm, R"({"projections": "split"})"},
          {kRewrite,
           "make several operations over ranges of at most 16,384 inputs, and add what they give"}},
     .find = find_wide_inputs},
    {.id = "argmax",
     .severity = Severity::kContested,
     .effect = Effect::kOperationOnCpu,
     .statement = "reduce_argmax is in the program",
     .evidence = {{kMeasured, "CoreML-LLM", "on the CPU, 2 ms more"},
                  {kStated, "ANEMLL", "ships it", kAgainst},
                  {kStated, "Aion", "ships it; where it runs was not published", kAgainst}},
     .remedy = "output the logits, and pick the token in the caller (no --argmax)",
     .hints = {{kOmit, "--argmax"},
               {kForm, R"({"head": "logits"})"},
               {kRewrite, "make the logits an output, and choose in the caller"}},
     .find = find_argmax},
    {.id = "slice-update",
     .severity = Severity::kContested,
     .statement = "slice_update at a run-time index on a tensor of more than 16 KiB",
     .evidence = {{kMeasured, "coreai-models#5", "crashes Core AI"},
                  {kMeasured, "coreai-torch#6", "crashes Core AI"},
                  {kStated, "ANEMLL", "ships it", kAgainst},
                  {kStated, "CoreML-LLM", "ships it", kAgainst},
                  {kMeasured, "MLKV", "54 and 30 % faster than inputs and outputs", kAgainst}},
     .remedy = "blend with a mask, or give new rows as outputs",
     .hints = {{kOption, "--kv-form readonly"},
               {kOption, "--kv-form blend"},
               {kRewrite,
                "make the new rows an output that the caller appends, or add them through a "
                "product with a one-hot matrix"}},
     .find = find_slice_updates},
    {.id = "run-time-gather",
     .severity = Severity::kContested,
     .effect = Effect::kOperationOnCpu,
     .statement = "gather or scatter with run-time indices on a tensor of more than 16 KiB",
     .evidence = {{kStated, "ane-book", "the chip has no gather and no indexed write"},
                  {kDerived, "coreai-torch#6",
                   "slice_update at a run-time index crashes Core AI and ships elsewhere"}},
     .remedy = "look rows up in the caller, or multiply by a one-hot matrix",
     .hints = {{kRewrite,
                "look the rows up in the caller, or multiply the table by a one-hot matrix"}},
     .find = find_gathers},
};

}  // namespace

std::span<const Law> operation_laws() {
  return kOperationLaws;
}

}  // namespace anemone::ane
