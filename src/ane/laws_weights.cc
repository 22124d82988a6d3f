// SPDX-License-Identifier: Apache-2.0
// Laws about how the weights of convolutions and linear operations are stored.
#include <bit>
#include <cstddef>
#include <fmt/format.h>

#include "ane/law_tables.h"
#include "ane/notch.h"
#include "ane/program_walk.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace anemone::ane {
namespace {

using enum Evidence::Kind;
using enum Hint::Kind;

bool has_weight(const ir::Op& op) {
  return op.type == "conv" || op.type == "linear";
}

bool is_palette(const ir::Op& op) {
  return op.type == "constexpr_lut_to_dense" || op.type == "constexpr_lut_to_sparse";
}

// The operation that restores the weight from a stored form; nullptr for weights that are floats.
const ir::Op* restoring(const ir::Op& op) {
  const ir::Op* producer = producer_of(op, "weight");
  return producer != nullptr && producer->type.starts_with("constexpr_") ? producer : nullptr;
}

// Bits that a stored weight takes per element; 0 when that is not known, as for sparse forms.
int stored_bits(const ir::Op& restore) {
  if (restore.type == "constexpr_affine_dequantize") return 8;
  if (restore.type == "constexpr_lut_to_dense") {
    const ir::Type* indices = type_of(restore, "indices");
    const ir::Type* lut = type_of(restore, "lut");
    if (indices == nullptr || lut == nullptr) return 0;
    // Up to iOS17 the indices are packed into bytes, and the palette tells how many bits they have.
    // A palette of vectors has an index for several elements.
    if (lut->shape.size() != 1) return dimension(lut, -1) == 1 ? dtype_bits(indices->dtype) : 0;
    const std::int64_t entries = dimension(lut, 0);
    return entries < 2 ? 0
                       : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(entries))) - 1;
  }
  if (restore.type != "constexpr_blockwise_shift_scale") return 0;
  if (const ir::Op* inner = producer_of(restore, "data"); inner != nullptr && is_palette(*inner))
    return stored_bits(*inner);
  const ir::Type* data = type_of(restore, "data");
  return data == nullptr ? 0 : dtype_bits(data->dtype);
}

std::uint64_t core_bytes(const ir::Type& weight, int bits) {
  const auto count = checked_element_count(weight.shape);
  const std::int64_t outputs = dimension(&weight, 0);
  if (!count.ok() || *count == 0 || outputs == 0) return 0;
  return bytes_of_a_core(outputs, *count / outputs, bits);
}

std::string notch_text(std::uint64_t bytes, int bits) {
  return fmt::format("{:.3f} MiB a core at {} bits", static_cast<double>(bytes) / (1 << 20), bits);
}

void find_block_scales(const Package& package, const Reporter& report) {
  for_each_op(package, [&](const ir::Function& function, const ir::Op& op, std::size_t index) {
    const ir::Op* restore = has_weight(op) ? restoring(op) : nullptr;
    if (restore == nullptr) return;
    if (restore->type != "constexpr_blockwise_shift_scale") return;
    const std::int64_t blocks = dimension(type_of(*restore, "scale"), 1);
    const ir::Type* data = type_of(*restore, "data");
    if (blocks <= 1 || data == nullptr) return;
    report(place_of(function, op, index),
           fmt::format("{}, a scale for every {} inputs", dtype_name(data->dtype),
                       dimension(output_of(*restore), 1) / blocks));
  });
}

void find_palette_scales(const Package& package, const Reporter& report) {
  // A palette of integers may have scales (joint compression); what fails is a float times a scale.
  const auto is_scaled_float = [](const ir::Op* op) {
    const ir::Type* data = op == nullptr ? nullptr : type_of(*op, "data");
    return data != nullptr && op->type == "constexpr_blockwise_shift_scale" &&
           is_float(data->dtype);
  };
  for_each_op(package, [&](const ir::Function& function, const ir::Op& op, std::size_t index) {
    if (is_palette(op) && is_scaled_float(producer_of(op, "lut")))
      report(place_of(function, op, index), "scales of the palette");
    const ir::Op* inner = is_scaled_float(&op) ? producer_of(op, "data") : nullptr;
    if (inner != nullptr && is_palette(*inner))
      report(place_of(function, op, index), "scales of a weight with a palette");
  });
}

void find_dma_notch(const Package& package, const Reporter& report) {
  for_each_op(package, [&](const ir::Function& function, const ir::Op& op, std::size_t index) {
    const ir::Op* constant = has_weight(op) ? producer_of(op, "weight") : nullptr;
    const ir::Type* weight = constant == nullptr ? nullptr : output_of(*constant);
    if (weight == nullptr || !constant->is_const() || weight->dtype != DType::kFp16) return;
    const std::uint64_t bytes = core_bytes(*weight, 16);
    if (is_in_notch(bytes)) report(place_of(function, op, index), notch_text(bytes, 16));
  });
}

void find_quantized_dma_notch(const Package& package, const Reporter& report) {
  for_each_op(package, [&](const ir::Function& function, const ir::Op& op, std::size_t index) {
    const ir::Type* weight = has_weight(op) ? type_of(op, "weight") : nullptr;
    const ir::Op* restore = weight == nullptr ? nullptr : restoring(op);
    const int bits = restore == nullptr ? 0 : stored_bits(*restore);
    const std::uint64_t bytes = bits == 0 ? 0 : core_bytes(*weight, bits);
    if (is_in_notch(bytes)) report(place_of(function, op, index), notch_text(bytes, bits));
  });
}

constexpr Law kWeightLaws[] = {
    {.id = "block-scales",
     .severity = Severity::kRefused,
     .effect = Effect::kOperationOnCpu,
     .statement =
         "a weight has a scale for each block of inputs: wrong numbers, or not on the chip",
     .evidence = {{kMeasured, "coreai-models#279", "cosine 0.367 (iPhone, Core AI on OS 27)"},
                  {kMeasured, "coreai-torch#93",
                   "taken as scales per channel (M5 Pro, Core AI on OS 27)"},
                  {kMeasured, "coreai-models#205", "GPU only, without an error (Core AI on OS 27)"},
                  {kMeasured, "ane-book",
                   "on the CPU in small and in stateless functions: 97 of 97 convolutions of a "
                   "0.5B, 12 of 12 of three layers of a 1.5B, 8 of 8 of two layers of a 3B"},
                  {kMeasured, "ane-book", "on the chip in one 0.5B with states (M4 Max)",
                   kAgainst}},
     .remedy = "palettes (compile --quant lut4, lut6 or lut8) or --quant int8-channel",
     .hints = {{kOption, "--quant lut4"},
               {kOption, "--quant int8-channel"},
               {kRewrite,
                "store the weight as a palette (constexpr_lut_to_dense), or with one scale for "
                "each output channel: a scale of [N, 1, 1, 1]"}},
     .find = find_block_scales},
    {.id = "palette-scales",
     .severity = Severity::kRefused,
     .statement = "floats of a palette are multiplied by scales, which fails to load",
     .evidence = {{kStated, "coremltools#2688", "crashes"}},
     .remedy = "multiply the scales into the palettes of groups of output channels",
     .hints = {{kRewrite,
                "multiply the scales into the entries of lut, which then has a palette for each "
                "group of output channels"}},
     .systems = "macOS 26",
     .find = find_palette_scales},
    {.id = "dma-notch",
     .severity = Severity::kSlow,
     .statement = "the weights of a core, ceil(outputs / 16) rows, are near a multiple of 1 MiB",
     .evidence = {{kMeasured, "stablehlo-coreml#110",
                   "17-19 GB/s instead of 45-60 (M4, fp16); splitting made a step of a synthetic "
                   "Llama-1B 2.41 times faster"},
                  {kDerived, "the reports",
                   "fused gate and up of Qwen3-1.7B and Hy-MT have 3.000 MiB, apart 1.5"}},
     .remedy = "split the matrix, or do not fuse it with others (notch: avoided in a form file)",
     .hints = {{kForm, R"({"notch": "avoided"})"},
               {kRewrite,
                "make several convolutions over ranges of the outputs, and join what they give by "
                "concat"}},
     .find = find_dma_notch},
    {.id = "dma-notch-quantized",
     .severity = Severity::kContested,
     .statement =
         "the quantized weights of a core, ceil(outputs / 16) rows, are near a multiple of "
         "1 MiB",
     .evidence = {{kDerived, "stablehlo-coreml#110",
                   "measured with fp16 alone; unmeasured for quantized payloads"}},
     .remedy = "measure it, and split the matrix where it is slow",
     .hints = {{kRewrite,
                "where a Mac measures it as slow, make several convolutions over ranges of the "
                "outputs, and join what they give by concat"},
               {kNothing,
                "compile leaves quantized products whole, because nobody measured which of their "
                "bytes count"}},
     .find = find_quantized_dma_notch},
    {.id = "block-scales-with-states",
     .severity = Severity::kFact,
     .statement = "in a function with states and 97 convolutions, those with scales per block of "
                  "inputs were on the chip",
     .evidence = {{kMeasured, "ane-book",
                   "97 of 97 of a 0.5B in int4 on the chip with states, none of them without "
                   "(M4 Max)"},
                  {kDerived, "ane-book",
                   "writing states seems to tip the cost model towards the chip"},
                  {kMeasured, "coreai-models#279", "wrong numbers (iPhone, Core AI on OS 27)",
                   kAgainst}},
     .remedy = "check what it computes before relying on it"},
    {.id = "no-products-left",
     .severity = Severity::kFact,
     .effect = Effect::kFunctionOnCpu,
     .statement = "a function none of whose convolutions stays on the chip runs on the CPU as a "
                  "whole",
     .evidence =
         {{kMeasured, "ane-book",
           "3,059 operations beside 97 convolutions, 66 beside 12, 48 beside 8 on the CPU"}},
     .remedy = "what the findings of the convolutions say"},
};

}  // namespace

std::span<const Law> weight_laws() {
  return kWeightLaws;
}

}  // namespace anemone::ane
