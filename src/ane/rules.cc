// SPDX-License-Identifier: Apache-2.0
// The table of the rules. A severity follows the reports: refused where somebody saw a refusal, a
// crash or wrong numbers, and what is said against it is a claim or one case of many; contested
// where measurements disagree or are missing. What is said against a rule stands in its source.
#include <array>

#include "ane/rule.h"
#include "ane/rule_finders.h"

namespace anemone::ane {
namespace {

constexpr std::array kRules = {
    Rule{"block-scales", Severity::kRefused,
         "a weight has a scale for each block of inputs: wrong numbers, or not on the chip",
         "coreai-models#279, measured (iPhone, Core AI on OS 27): cosine 0.367; coreai-torch#93, "
         "measured (M5 Pro): taken as scales per channel; coreai-models#205, measured: GPU only; "
         "against it ane-book, measured: on the chip in one stateful 0.5B, else on the CPU",
         "palettes (compile --quant lut4, lut6 or lut8) or --quant int8-channel",
         find_block_scales},
    Rule{"palette-scales", Severity::kRefused,
         "floats of a palette are multiplied by scales, which fails to load",
         "coremltools#2688, reported (macOS 26)",
         "multiply the scales into the palettes of groups of output channels", find_palette_scales},
    Rule{"state-width", Severity::kRefused, "the last dimension of a state is no multiple of 32",
         "coremltools#2631, measured (M4)",
         "pad the dimension, or make the state an input and an output", find_state_widths},
    Rule{"state-shapes", Severity::kRefused, "the states of a package have several shapes",
         "CoreML-LLM LFM2 findings, measured (macOS 26): 7 variants fail at predict; against it "
         "Anemll#50 claims that 48 run (M1)",
         "make recurrent states inputs and outputs (recurrent: tensors in a form file)",
         find_state_shapes},
    Rule{"range-states", Severity::kRefused,
         "a function with states has fixed inputs beside inputs with a range of shapes",
         "coremltools#2548, measured: aborts", "a function for each width (no --range-dim)",
         find_ranges_with_states},
    Rule{"wide-output", Severity::kRefused,
         "an axis of the output of conv, linear or matmul is longer than 16,384",
         "mobius#61, measured (M2): width > 16384; ANEForge#152, measured (M1, M2 Pro): 32,000 "
         "refused",
         "split it into several operations of at most 16,384 in the same package",
         find_wide_outputs},
    Rule{"softplus", Severity::kRefused, "softplus is 0 where its input is above about 10.4",
         "coremltools#2687, measured; coremltools#2814 could not route it to an M2's chip",
         "max(x, 0) + log(1 + exp(-abs(x))) (softplus: arithmetic in a form file)", find_softplus},
    Rule{"narrow-axis", Severity::kSlow,
         "a last axis of fewer than 32 elements of a large input or output is padded to 64 bytes",
         "ane-book, measured: a stride of 32 for [64, 640, 1, 1]; Apple's rules",
         "put a long axis last (compile --layout width; logits: last-axis in a form file)",
         find_narrow_axes},
    Rule{"dma-notch", Severity::kSlow,
         "the weights of a core, ceil(outputs / 16) rows, are near a multiple of 1 MiB",
         "stablehlo-coreml#110, measured (M4, fp16): 17-19 GB/s instead of 45-60",
         "split the matrix, or do not fuse it with others (notch: avoided in a form file)",
         find_dma_notch},
    Rule{"depthwise-conv", Severity::kSlow, "a convolution with a group for each channel",
         "CoreML-LLM LFM2 findings, measured: on the CPU, about 5 ms each time",
         "multiply by each tap and add", find_depthwise_convs},
    Rule{"large-select", Severity::kSlow, "select on a tensor of more than 16 KiB",
         "CoreML-LLM LFM2 findings: seen on the CPU; onnxsim#1400: broadcast select broke the plan",
         "multiply by a mask and add", find_large_selects},
    Rule{"many-functions", Severity::kSlow, "a package has more than two functions",
         "CoreML-LLM IPHONE_ANE_SPARSITY, measured (iPhone): four variants make prefill 2.2 times "
         "slower; 0.33 s a function to load",
         "fewer tiers, widths or experts in a package", find_many_functions},
    Rule{"many-states", Severity::kContested, "a function has more than two states",
         "CoreML-LLM MLSTATE_PATTERN, measured: three fail; magenta-realtime-2-iphone, measured "
         "(A14, A17): 48 refused; against it Anemll#50 claims that 48 run (M1)",
         "one packed state in a package (compile --kv-form slice), or the past as an input "
         "(--kv-form readonly)",
         find_many_states},
    Rule{"wide-input", Severity::kContested,
         "conv, linear or matmul sums over more than 16,384 inputs",
         "larql#312, measured: 16,384 at most; against it ane-book: 20,480",
         "split the inputs and add the parts", find_wide_inputs},
    Rule{"dma-notch-quantized", Severity::kContested,
         "the quantized weights of a core, ceil(outputs / 16) rows, are near a multiple of 1 MiB",
         "stablehlo-coreml#110 measured fp16 alone; unmeasured for quantized payloads",
         "measure it, and split the matrix where it is slow", find_quantized_dma_notch},
    Rule{"many-operations", Severity::kContested,
         "a function has more than 1,500 operations beside constants",
         "ANEForge#254, measured: fails at about 31 layers; speech-swift#282, measured: 28 layers "
         "fail; against it mobius#77, measured: 1,919 operations run",
         "smaller packages (compile --shards)", find_many_operations},
    Rule{
        "many-layers", Severity::kContested, "a package has more than 16 layers",
        "ANEForge#254, measured: fails at about 31 layers; speech-swift#282, measured: 28 fail, 14 "
        "work; against it mobius#77, measured: 1,919 operations run",
        "smaller packages (compile --shards)", find_many_layers},
    Rule{
        "range-shapes", Severity::kContested, "an input takes a range of shapes",
        "coremltools#1029: not supported on the chip; coremltools#2370, measured: about 0 % of the "
        "chip; against it ane-book: it runs after 245 s of compiling",
        "a function for each width (no --range-dim)", find_ranges},
    Rule{"argmax", Severity::kContested, "reduce_argmax is in the program",
         "CoreML-LLM, measured: on the CPU, 2 ms more; against it ANEMLL ships it",
         "give the logits, and choose outside (no --argmax)", find_argmax},
    Rule{"slice-update", Severity::kContested,
         "slice_update at a run-time index on a tensor of more than 16 KiB",
         "coreai-models#5, coreai-torch#6, measured: crashes Core AI; against it ANEMLL and "
         "CoreML-LLM ship it",
         "blend with a mask, or give new rows as outputs", find_slice_updates},
    Rule{"run-time-gather", Severity::kContested,
         "gather or scatter with run-time indices on a tensor of more than 16 KiB",
         "unmeasured; slice_update at a run-time index crashes Core AI (coreai-torch#6) and ships "
         "elsewhere",
         "look rows up outside, or multiply by a one-hot matrix", find_gathers},
};

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kRefused:
      return "refused";
    case Severity::kSlow:
      return "slow";
    case Severity::kContested:
      break;
  }
  return "contested";
}

std::string_view place_kind_name(Place::Kind kind) {
  switch (kind) {
    case Place::Kind::kOperation:
      return "operation";
    case Place::Kind::kInput:
      return "input";
    case Place::Kind::kOutput:
      return "output";
    case Place::Kind::kState:
      return "state";
    case Place::Kind::kFunction:
      return "function";
    case Place::Kind::kPackage:
      break;
  }
  return "package";
}

}  // namespace anemone::ane
