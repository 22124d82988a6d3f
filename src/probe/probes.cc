// SPDX-License-Identifier: Apache-2.0
// The table of probes: a new question about a form of the compiler is a row here.
#include <algorithm>
#include <iterator>

#include "ane/form.h"
#include "base/error.h"
#include "probe/probe.h"

namespace anemone::probe {
namespace {

using Kind = Build::Kind;
using artifact::CacheForm;
using artifact::HiddenLayout;

constexpr std::string_view kCaches =
    "Which form of the KV cache is accepted, and what does it cost?";
constexpr std::string_view kCacheSource =
    "accepted: ANEMLL, CoreML-LLM, FluidAudio#679; refused with -14: magenta-realtime-2, mobius#77";
constexpr std::string_view kSliceSource =
    "ANEMLL and CoreML-LLM ship it, MLKV gained 54 and 30 %; coreai-models#5: it crashed Core AI";
constexpr std::string_view kStates = "How many states does a package work with?";
constexpr std::string_view kStateSource =
    "CoreML-LLM MLSTATE_PATTERN: three fail; Anemll#50: 48 work on M1";
constexpr std::string_view kQuant = "Which stored weights stay on the chip, at which speed?";
constexpr std::string_view kBlockSource = "coreai-models#279: cosine 0.367 with block scales";
constexpr std::string_view kLinearSource =
    "resident: ane-book; stablehlo-coreml#110: int8 convolutions on the CPU";
constexpr std::string_view kPaletteSource = "anemll-bench#5, smpanaro: palettes stream compressed";
constexpr std::string_view kPast = "What do caches of two shapes cost?";
constexpr std::string_view kPastSource =
    "no report; bytes say that a layer with a window takes a part of the past";
constexpr std::string_view kLayout = "Does a last axis of 1 cost what its padding says?";
constexpr std::string_view kLayoutSource = "Apple's rules; ane-book saw a stride of 32";
constexpr std::string_view kMlp = "Are 64 tokens faster as 8 x 8 in an MLP?";
constexpr std::string_view kMlpSource = "coreml-llm-cli: worth about 20 % overall";
constexpr std::string_view kFunctions = "What does a package pay for several functions?";
constexpr std::string_view kFunctionSource =
    "IPHONE_ANE_SPARSITY: four resident variants made prefill 2.2 times slower";
constexpr std::string_view kNotch = "Do weights of 1 MiB per core stream slowly?";
constexpr std::string_view kNotchSource = "stablehlo-coreml#110: 17 GB/s against 45 to 60 (M4)";
constexpr std::string_view kHeads = "How wide may an output be?";
constexpr std::string_view kHeadSource =
    "ANEForge#152, mobius#61: 16,384; CoreML-LLM LMSPLIT: parts cost 4.6 %";
constexpr std::string_view kTaps = "Where does a depthwise convolution over time run?";
constexpr std::string_view kTapsSource = "CoreML-LLM LFM2 report: on the CPU, 5 ms a bounce";
constexpr std::string_view kSoftplus = "Is softplus right for large inputs?";
constexpr std::string_view kSoftplusSource =
    "coremltools#2687: 0 above 10.4; #2814: not on the chip";
constexpr std::string_view kRange = "Does a range of shapes leave the chip?";
constexpr std::string_view kRangeSource = "coremltools#2370: 0 %; ane-book: runs after 245 s";

constexpr std::string_view kWhole = "What does the portable form cost or gain as a whole?";
constexpr std::string_view kWholeSource =
    "each choice has a source of its own; no report is of all of them";

constexpr Probe kRows[] = {
    {.id = "cache-blend",
     .question = kCaches,
     .source = kCacheSource,
     .differs = "two states per layer, rewritten by a product",
     .build = {.form = {.cache = CacheForm::kBlend}}},
    {.id = "cache-readonly",
     .question = kCaches,
     .source = kCacheSource,
     .differs = "caches are inputs, new rows are outputs"},
    {.id = "cache-slice",
     .question = kCaches,
     .source = kSliceSource,
     .differs = "one state, written by slice_update at a position that is an input",
     .build = {.form = {.cache = CacheForm::kSlice}}},
    {.id = "past-whole",
     .question = kPast,
     .source = kPastSource,
     .differs = "every layer takes the whole past, half of them attend to a window of it",
     .build = {.has_windows = true}},
    {.id = "past-window",
     .question = kPast,
     .source = kPastSource,
     .differs = "layers with a window take that many positions",
     .build = {.form = {.cache = CacheForm::kReadOnly, .past = artifact::PastForm::kWindow},
               .has_windows = true}},
    {.id = "states-1",
     .question = kStates,
     .source = kStateSource,
     .differs = "one state for all layers",
     .build = {.kind = Kind::kStates, .variant = 1}},
    {.id = "states-2",
     .question = kStates,
     .source = kStateSource,
     .differs = "one state for keys, one for values",
     .build = {.kind = Kind::kStates, .variant = 2}},
    {.id = "states-2l",
     .question = kStates,
     .source = kStateSource,
     .differs = "two states per layer",
     .build = {.kind = Kind::kStates}},
    {.id = "quant-int8",
     .question = kQuant,
     .source = kLinearSource,
     .differs = "one scale per matrix",
     .build = {.quant = "int8"}},
    {.id = "quant-int8-channel",
     .question = kQuant,
     .source = kLinearSource,
     .differs = "one scale per output channel"},
    {.id = "quant-int8-block",
     .question = kQuant,
     .source = kBlockSource,
     .differs = "int8, scales per block of inputs",
     .build = {.quant = "int8-block"}},
    {.id = "quant-int4-block",
     .question = kQuant,
     .source = kBlockSource,
     .differs = "int4, scales per block of inputs",
     .build = {.quant = "int4-block"}},
    {.id = "quant-lut4",
     .question = kQuant,
     .source = kPaletteSource,
     .differs = "palettes of 16 values",
     .build = {.quant = "lut4"}},
    {.id = "quant-lut6",
     .question = kQuant,
     .source = kPaletteSource,
     .differs = "palettes of 64 values",
     .build = {.quant = "lut6"}},
    {.id = "quant-lut8",
     .question = kQuant,
     .source = kPaletteSource,
     .differs = "palettes of 256 values",
     .build = {.quant = "lut8"}},
    {.id = "layout-height",
     .question = kLayout,
     .source = kLayoutSource,
     .differs = "hidden states [1, C, T, 1]",
     .build = {.functions = 2}},
    {.id = "layout-width",
     .question = kLayout,
     .source = kLayoutSource,
     .differs = "hidden states [1, C, 1, T]",
     .build = {.form = {.layout = HiddenLayout::kTokensInWidth, .cache = CacheForm::kReadOnly},
               .functions = 2}},
    {.id = "mlp-line",
     .question = kMlp,
     .source = kMlpSource,
     .differs = "64 tokens along one axis",
     .build = {.form = {.layout = HiddenLayout::kTokensInWidth, .cache = CacheForm::kReadOnly},
               .functions = 2}},
    {.id = "mlp-square",
     .question = kMlp,
     .source = kMlpSource,
     .differs = "64 tokens as 8 x 8 in the products of an MLP",
     .build = {.form = {.layout = HiddenLayout::kTokensInWidth,
                        .cache = CacheForm::kReadOnly,
                        .mlp = artifact::MlpForm::kSquare},
               .functions = 2}},
    {.id = "functions-1",
     .question = kFunctions,
     .source = kFunctionSource,
     .differs = "decode alone"},
    {.id = "functions-4",
     .question = kFunctions,
     .source = kFunctionSource,
     .differs = "decode and prefill, each with two contexts",
     .build = {.functions = 4}},
    {.id = "notch-whole",
     .question = kNotch,
     .source = kNotchSource,
     .differs = "1 MiB per core in each convolution",
     .build = {.kind = Kind::kNotch, .variant = 1}},
    {.id = "notch-split",
     .question = kNotch,
     .source = kNotchSource,
     .differs = "each convolution in two",
     .build = {.kind = Kind::kNotch, .variant = 2}},
    {.id = "head-16k",
     .question = kHeads,
     .source = kHeadSource,
     .differs = "one convolution, 16 k outputs",
     .build = {.kind = Kind::kHead, .variant = 16}},
    {.id = "head-32k",
     .question = kHeads,
     .source = kHeadSource,
     .differs = "one convolution, 32 k outputs",
     .build = {.kind = Kind::kHead, .variant = 32}},
    {.id = "head-64k",
     .question = kHeads,
     .source = kHeadSource,
     .differs = "one convolution, 64 k outputs",
     .build = {.kind = Kind::kHead, .variant = 64}},
    {.id = "head-64k-split",
     .question = kHeads,
     .source = kHeadSource,
     .differs = "four convolutions, 64 k outputs",
     .build = {.kind = Kind::kHead, .variant = 64, .parts = 4}},
    {.id = "taps-depthwise",
     .question = kTaps,
     .source = kTapsSource,
     .differs = "depthwise convolutions",
     .build = {.kind = Kind::kTaps, .variant = 1}},
    {.id = "taps-sum",
     .question = kTaps,
     .source = kTapsSource,
     .differs = "multiplications and additions",
     .build = {.kind = Kind::kTaps, .variant = 2}},
    {.id = "softplus-operation",
     .question = kSoftplus,
     .source = kSoftplusSource,
     .differs = "the operation",
     .build = {.kind = Kind::kSoftplus, .variant = 1}},
    {.id = "softplus-arithmetic",
     .question = kSoftplus,
     .source = kSoftplusSource,
     .differs = "max(x, 0) + log(1 + exp(-|x|))",
     .build = {.kind = Kind::kSoftplus, .variant = 2}},
    {.id = "range-fixed",
     .question = kRange,
     .source = kRangeSource,
     .differs = "one shape",
     .build = {.kind = Kind::kRange, .variant = 1}},
    {.id = "range-flexible",
     .question = kRange,
     .source = kRangeSource,
     .differs = "a range of shapes",
     .build = {.kind = Kind::kRange, .variant = 2}},
};

// The rows of the named forms have prefill, too, without which the layout of hidden states says
// little.
std::vector<Probe> make_table() {
  std::vector<Probe> table(std::begin(kRows), std::end(kRows));
  for (const ane::NamedForm& each : ane::named_forms())
    table.push_back({.id = each.name,
                     .question = kWhole,
                     .source = kWholeSource,
                     .differs = each.what,
                     .build = {.form = each.form, .functions = 2}});
  return table;
}

}  // namespace

std::span<const Probe> probes() {
  static const std::vector<Probe> kTable = make_table();
  return kTable;
}

Result<std::vector<Probe>> choose(const std::vector<std::string>& ids) {
  std::vector<Probe> out;
  for (const std::string& id : ids)
    if (std::ranges::find(probes(), id, &Probe::id) == probes().end())
      return invalid_argument("[--only] expected ids that --list shows, got \"{}\"", id);
  for (const Probe& each : probes())
    if (ids.empty() || std::ranges::find(ids, each.id) != ids.end()) out.push_back(each);
  return out;
}

}  // namespace anemone::probe
