// SPDX-License-Identifier: Apache-2.0
// Laws about operations and element types that the Neural Engine does not run, and about advice
// that was published for keeping operations on it (convolutions, quantized weights).
#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "ane/law_tables.h"
#include "ane/program_walk.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace anemone::ane {
namespace {

using enum Evidence::Kind;
using enum Hint::Kind;

constexpr std::size_t kMaxRank = 5;

void find_sorts(const Package& package, const Reporter& report) {
  report_types(package, report, {"topk"});
}

// No report shows one of these on the chip, and none shows that the chip refuses them: hence the
// law is contested.
void find_host_operations(const Package& package, const Reporter& report) {
  report_types(package, report,
               {"argsort",
                "band_part",
                "classify",
                "crop_resize",
                "cumsum",
                "fill",
                "gru",
                "list_gather",
                "list_length",
                "list_read",
                "list_scatter",
                "list_write",
                "lstm",
                "make_list",
                "non_maximum_suppression",
                "non_zero",
                "one_hot",
                "random_bernoulli",
                "random_categorical",
                "random_normal",
                "random_uniform",
                "range_1d",
                "reduce_argmin",
                "resample",
                "reverse",
                "reverse_sequence",
                "rnn",
                "shape",
                "sliding_windows"});
}

void find_control_flow(const Package& package, const Reporter& report) {
  report_types(package, report, {"cond", "while_loop"});
}

void find_high_ranks(const Package& package, const Reporter& report) {
  report_operations(package, report, [](const ir::Function&, const ir::Op& op) -> std::string {
    const ir::Type* output = output_of(op);
    return output == nullptr || output->shape.size() <= kMaxRank
               ? ""
               : fmt::format("{} of rank {}", op.type, output->shape.size());
  });
}

void find_fp32(const Package& package, const Reporter& report) {
  report_operations(package, report, [](const ir::Function&, const ir::Op& op) -> std::string {
    const ir::Type* output = output_of(op);
    if (output == nullptr || output->dtype != DType::kFp32 || !is_large(output)) return "";
    return fmt::format("{} in fp32", op.type);
  });
}

void find_integers(const Package& package, const Reporter& report) {
  report_operations(package, report, [](const ir::Function&, const ir::Op& op) -> std::string {
    const ir::Type* output = output_of(op);
    if (output == nullptr || !is_large(output)) return "";
    if (output->dtype != DType::kInt32 && output->dtype != DType::kBool) return "";
    return fmt::format("{} gives {}", op.type, dtype_name(output->dtype));
  });
}

// A cast that is the first or the last operation between the program and its caller.
void find_casts_at_the_edge(const Package& package, const Reporter& report) {
  report_operations(
      package, report, [](const ir::Function& function, const ir::Op& op) -> std::string {
        if (op.type != "cast" || op.outputs.empty()) return "";
        const ir::Value* x = op.input("x");
        if (x != nullptr && std::ranges::find(function.inputs, x) != function.inputs.end())
          return "cast of an input";
        const auto& outputs = function.block->outputs;
        return std::ranges::find(outputs, op.outputs.front()) != outputs.end() ? "cast of an output"
                                                                               : "";
      });
}

void find_attention_operations(const Package& package, const Reporter& report) {
  report_types(package, report, {"scaled_dot_product_attention"});
}

// A product with a constant matrix that is written as linear or matmul, not as a convolution.
void find_linear_products(const Package& package, const Reporter& report) {
  report_operations(package, report, [](const ir::Function&, const ir::Op& op) -> std::string {
    const bool is_constant_matmul = op.type == "matmul" && producer_of(op, "y") != nullptr &&
                                    !is_computed(*producer_of(op, "y"));
    if (op.type != "linear" && !is_constant_matmul) return "";
    return fmt::format("{} with a constant matrix", op.type);
  });
}

void find_float_weights(const Package& package, const Reporter& report) {
  report_operations(package, report, [](const ir::Function&, const ir::Op& op) -> std::string {
    const ir::Op* constant = is_weighted(op) ? producer_of(op, "weight") : nullptr;
    if (constant == nullptr || !constant->is_const()) return "";
    const ir::Type* weight = output_of(*constant);
    if (weight == nullptr || !is_float(weight->dtype) || !is_large(weight)) return "";
    return fmt::format("{} with a matrix of {}", op.type, dtype_name(weight->dtype));
  });
}

constexpr Law kDeviceLaws[] = {
    {.id = "sort",
     .severity = Severity::kSlow,
     .effect = Effect::kOperationOnCpu,
     .statement = "topk is in the program",
     .evidence = {{kMeasured, "ane-book",
                   "topk after the LM head, and the cast after it, on the CPU"},
                  {kStated, "emilio", "the chip has no sort"}},
     .remedy = "output the logits, and pick the token in the caller",
     .hints = {{kRewrite, "make what topk reads an output, and sort in the caller"}},
     .find = find_sorts},
    {.id = "control-flow",
     .severity = Severity::kSlow,
     .effect = Effect::kOperationOnCpu,
     .statement = "cond or while_loop is in the program",
     .evidence = {{kStated, "ane-book, chapter 1", "the chip has no loops and no branches"}},
     .remedy = "a function for each case, which the caller chooses; unrolled loops",
     .hints = {{kRewrite, "give each case of cond a function of its own, and unroll while_loop"}},
     .find = find_control_flow},
    {.id = "edge-cast",
     .severity = Severity::kSlow,
     .effect = Effect::kOperationOnCpu,
     .statement = "a cast of an input, or of what becomes an output",
     .evidence = {{kMeasured, "ane-book", "a cast after the LM head on the CPU"},
                  {kMeasured, "CoreML-LLM LFM2 findings", "cast seen on the CPU"},
                  {kMeasured, "maderix/ANE",
                   "casts of fp32 inputs work through the private API (M4, M5)", kAgainst}},
     .remedy = "inputs and outputs of fp16; the type of an image cannot be chosen",
     .hints = {{kRewrite,
                "declare inputs and outputs of fp16 (TensorType with dtype=numpy.float16 in "
                "coremltools)"}},
     .find = find_casts_at_the_edge},
    {.id = "fp32",
     .severity = Severity::kSlow,
     .effect = Effect::kOperationOnCpu,
     .statement = "an operation gives more than 16 KiB of fp32",
     .evidence = {{kStated, "Apple's rules", "fp16, int8 and int16 only"},
                  {kMeasured, "Orion", "the chip computes in fp16 only"},
                  {kMeasured, "ane-book", "softmax in fp32 between casts stayed on the chip",
                   kAgainst}},
     .remedy = "compute in fp16 (compile --precision fp16); the scale of an image, which "
               "coremltools puts before its cast, belongs into the first convolution",
     .hints =
         {{kOption, "--precision fp16"},
          {kRewrite,
           "compute in fp16 (compute_precision=FLOAT16 in coremltools), and fold scale and bias of "
           "an ImageType, which stay in fp32, into the first convolution"}},
     .find = find_fp32},
    // coremltools refuses to write it, hence kRefused. In a package of another writer it is
    // predicted to run on the CPU.
    {.id = "rank",
     .severity = Severity::kRefused,
     .effect = Effect::kOperationOnCpu,
     .statement = "a tensor has more than five dimensions",
     .evidence = {{kStated, "Apple's rules", "five at most"},
                  {kStated, "coremltools", "refuses to write a tensor of rank 6"}},
     .remedy = "merge dimensions, or split the operation",
     .hints = {{kRewrite, "merge dimensions by reshape until five are left"}},
     .find = find_high_ranks},
    {.id = "element-type",
     .severity = Severity::kContested,
     .effect = Effect::kOperationOnCpu,
     .statement = "an operation gives more than 16 KiB of int32 or bool",
     .evidence = {{kStated, "Apple's rules", "fp16, int8 and int16 only"},
                  {kMeasured, "CoreML-LLM LFM2 findings", "cast and select seen on the CPU"}},
     .remedy = "masks in fp16, as inputs or from fp16 operations",
     .hints = {{kRewrite,
                "pass masks as inputs of fp16, or compute them with fp16 operations instead of "
                "comparisons"}},
     .find = find_integers},
    {.id = "host-operation",
     .severity = Severity::kContested,
     .effect = Effect::kOperationOnCpu,
     .statement = "an operation that nobody reported on the chip",
     .evidence = {{kDerived, "the reports",
                   "not measured: lists, random numbers, recurrent layers, and operations whose "
                   "output shape depends on data"}},
     .remedy = "compute it in the caller, or write it with add, mul and the like",
     .hints = {{kRewrite,
                "compute it in the caller and pass it as an input, or write it with add, mul and "
                "the like"}},
     .find = find_host_operations},
    // The laws from here on predict no device (Effect::kNone): they are about wrong numbers, speed
    // and bytes.
    {.id = "fused-attention",
     .severity = Severity::kContested,
     .statement = "scaled_dot_product_attention is in the program",
     .evidence = {{kMeasured, "maderix/ANE", "the private API ignores its mask"},
                  {kMeasured, "Orion", "the private API ignores its mask"},
                  {kMeasured, "dev-erik/ANE", "correct through Core ML's engine, without a mask",
                   kAgainst}},
     .remedy = "two products with a softmax between them",
     .hints = {{kRewrite, "matmul, the mask by add, softmax, matmul"}},
     .find = find_attention_operations},
    {.id = "linear-product",
     .severity = Severity::kNote,
     .statement = "a product with a constant matrix is a linear or matmul, not a convolution",
     .evidence = {{kMeasured, "maderix/ANE", "a convolution is about 3 times faster than matmul"},
                  {kMeasured, "CoreML-LLM Plan 3", "linear is as fast", kAgainst}},
     .remedy = "a convolution with a kernel of 1 x 1",
     .hints = {{kRewrite, "a conv with a weight of [N, D, 1, 1] over [1, D, 1, T]"}},
     .find = find_linear_products},
    {.id = "unquantized-weights",
     .severity = Severity::kNote,
     .statement = "the matrix of a product is stored as floats, not quantized",
     .evidence = {{kMeasured, "anemll-bench#5", "fp16 16.4 ms, lut6 6.4 ms (M4)"},
                  {kMeasured, "smpanaro joint-compression-test",
                   "fp16 19.3 ms, lut4 5.9 ms (M1 Max)"},
                  {kMeasured, "ane-book",
                   "one scale for the experts of a layer in one tensor has an error of 4.5 % in "
                   "each layer",
                   kAgainst}},
     .remedy = "compile --quant auto",
     .hints = {{kOption, "--quant auto"},
               {kRewrite,
                "palettize_weights of coremltools.optimize, or linear_quantize_weights with a "
                "scale per channel"}},
     .find = find_float_weights},
};

}  // namespace

std::span<const Law> device_laws() {
  return kDeviceLaws;
}

}  // namespace anemone::ane
