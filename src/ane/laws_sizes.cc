// SPDX-License-Identifier: Apache-2.0
// Laws about the bytes, layers, operations and functions of a package.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>

#include "ane/law_tables.h"
#include "ane/limits.h"
#include "ane/program_walk.h"
#include "base/progress.h"

namespace anemone::ane {
namespace {

using enum Evidence::Kind;
using enum Hint::Kind;

constexpr std::size_t kMaxFunctions = 2;
constexpr std::size_t kMaxPorts = 128;
constexpr std::int64_t kUsualLayers = 3;

void find_refused_bytes(const Package& package, const Reporter& report) {
  if (package.weight_bytes > kMaxPackageBytes)
    report({}, fmt::format("{} of weights", format_bytes(package.weight_bytes)));
}

void find_large_packages(const Package& package, const Reporter& report) {
  if (package.weight_bytes > kShardBytes && package.weight_bytes <= kMaxPackageBytes)
    report({}, fmt::format("{} of weights", format_bytes(package.weight_bytes)));
}

void find_small_packages(const Package& package, const Reporter& report) {
  if (package.weight_bytes > 0 && package.weight_bytes < kSmallPackageBytes)
    report({}, fmt::format("{} of weights", format_bytes(package.weight_bytes)));
}

void find_tiny_functions(const Package& package, const Reporter& report) {
  for (const SurveyedFunction& each : package.survey.functions)
    if (each.weight_bytes < kTinyFunctionBytes)
      report({Place::Kind::kFunction, each.function->name},
             fmt::format("{} of weights", format_bytes(each.weight_bytes)));
}

void find_many_functions(const Package& package, const Reporter& report) {
  const std::size_t count = package.program.functions().size();
  if (count > kMaxFunctions) report({}, fmt::format("{} functions", count));
}

void find_many_layers(const Package& package, const Reporter& report) {
  if (package.layers > kMaxLayers) report({}, fmt::format("{} layers", package.layers));
}

void find_more_layers_than_three(const Package& package, const Reporter& report) {
  if (package.layers > kUsualLayers) report({}, fmt::format("{} layers", package.layers));
}

void find_many_operations(const Package& package, const Reporter& report) {
  for (const SurveyedFunction& each : package.survey.functions) {
    const auto count = std::ranges::count_if(
        each.operations, [](const SurveyedOperation& of) { return is_computed(*of.op); });
    if (count > kMaxOperations)
      report({Place::Kind::kFunction, each.function->name}, fmt::format("{} operations", count));
  }
}

void find_many_ports(const Package& package, const Reporter& report) {
  for (const ir::Function* function : package.program.functions()) {
    const std::size_t count = function->inputs.size() +
                              (function->block == nullptr ? 0 : function->block->outputs.size());
    if (count > kMaxPorts)
      report({Place::Kind::kFunction, function->name},
             fmt::format("{} inputs, outputs and states", count));
  }
}

constexpr Law kSizeLaws[] = {
    {.id = "package-bytes",
     .severity = Severity::kRefused,
     .effect = Effect::kFunctionOnCpu,
     .statement = "a package has more than 2.1 GB of weights",
     .evidence = {{kMeasured, "ane-book",
                   "24 layers of Phi-4-mini, 2.3 GB, on the CPU; 2.0 GB of them on the chip "
                   "(M4 Max, int8 with states)"},
                  {kStated, "Anemll#28",
                   "files of more than 2 GB on macOS, or 1 GB on iOS, give "
                   "broken output without an error"}},
     .remedy = "smaller packages (compile --shards 250MB)",
     .hints = {{kOption, "--shards 250MB"},
               {kRewrite, "cut the model between two layers into several packages"}},
     .find = find_refused_bytes},
    {.id = "many-functions",
     .severity = Severity::kSlow,
     .statement = "a package has more than two functions",
     .evidence = {{kMeasured, "CoreML-LLM IPHONE_ANE_SPARSITY",
                   "four variants make prefill 2.2 times slower (iPhone)"},
                  {kMeasured, "emilio", "0.33 s per function to load; 256 of them run (M4 Max)"}},
     .remedy = "fewer tiers, widths or experts in a package",
     .hints = {{kOmit, "--draft-width"},
               {kOmit, "--context"},
               {kOption, "--experts dense"},
               {kRewrite, "put the functions into several packages"}},
     .find = find_many_functions},
    {.id = "tiny-function",
     .severity = Severity::kSlow,
     .effect = Effect::kFunctionOnCpu,
     .statement = "a function has less than 1 MB of weights: Core ML takes the CPU for cheaper",
     .evidence = {{kMeasured, "ane-book", "MicroGPT, 0.03 MB, and a block of width 64 on the CPU"},
                  {kMeasured, "executorch#7280",
                   "stories110M 8 times faster on the CPU than on the GPU"},
                  {kMeasured, "ane-book", "19 MB of MicroGPT on the chip (M4 Max)", kAgainst}},
     .remedy = "nothing, where the model is so small; else fewer packages",
     .hints = {{kOption, "--shards auto"},
               {kForm, R"({"embed": "none"})"},
               {kOption, "--experts dense"},
               {kRewrite, "merge packages that run one after the other"},
               {kNothing, "a model of less than 1 MB stays as small as it is"}},
     .find = find_tiny_functions},
    {.id = "large-package",
     .severity = Severity::kContested,
     .statement = "a package has more than 250 MB of weights",
     .evidence = {{kMeasured, "ane-book",
                   "364 and 398 MB of experts without states on the GPU, or wrong tokens"},
                  {kMeasured, "ane-book",
                   "a 1.5B in int8 (1.5 GB) and a 3B in int4 (1.7 GB) fail with -14"},
                  {kMeasured, "ane-book",
                   "384 MB to 2.0 GB of Phi-4-mini with states, and 472 MB of a 0.5B, on the chip",
                   kAgainst},
                  {kStated, "ANEMLL", "ships 950 MB", kAgainst},
                  {kStated, "CoreML-LLM", "ships 1 to 1.4 GB", kAgainst}},
     .remedy = "smaller packages (compile --shards 250MB)",
     .hints = {{kOption, "--shards 250MB"},
               {kRewrite, "cut the model between two layers into several packages"}},
     .find = find_large_packages},
    {.id = "small-package",
     .severity = Severity::kContested,
     .statement = "a package has less than 50 MB of weights: Core ML may take the CPU for cheaper",
     .evidence = {{kMeasured, "emilio",
                   "a linear operation of 25 MB on the CPU, one of 50 MB on the chip"},
                  {kMeasured, "stablehlo-coreml#110", "one or two layers on the CPU"},
                  {kMeasured, "ane-book",
                   "attention of ZAYA1 (8 MB) and experts of the privacy filter (2.4 MB) on the "
                   "chip",
                   kAgainst}},
     .remedy = "larger packages, where they fall to the CPU",
     .hints = {{kOption, "--shards 1"},
               {kRewrite, "merge packages that run one after the other"},
               {kNothing, "a model of less than 50 MB stays as small as it is"}},
     .find = find_small_packages},
    {.id = "many-operations",
     .severity = Severity::kContested,
     .statement = "a function has more than 1,500 operations beside constants",
     .evidence = {{kMeasured, "ANEForge#254", "fails at about 31 layers, whatever the width"},
                  {kMeasured, "speech-swift#282", "28 layers fail, 14 work"},
                  {kMeasured, "mobius#77", "1,919 operations run", kAgainst}},
     .remedy = "smaller packages (compile --shards)",
     .hints = {{kForm, R"({"packages": "bounded"})"},
               {kOption, "--shards each"},
               {kRewrite, "cut the model between two layers into several packages"}},
     .find = find_many_operations},
    {.id = "many-layers",
     .severity = Severity::kContested,
     .statement = "a package has more than 16 layers",
     .evidence = {{kMeasured, "ANEForge#254", "fails at about 31 layers, whatever the width"},
                  {kMeasured, "speech-swift#282", "28 layers fail, 14 work"},
                  {kMeasured, "mobius#77", "1,919 operations run", kAgainst},
                  {kMeasured, "ane-book", "20 layers of Phi-4-mini and 24 of a 0.5B run",
                   kAgainst}},
     .remedy = "smaller packages (compile --shards)",
     .hints = {{kForm, R"({"packages": "bounded"})"},
               {kOption, "--shards each"},
               {kRewrite, "cut the model between two layers into several packages"}},
     .find = find_many_layers},
    {.id = "many-ports",
     .severity = Severity::kContested,
     .statement = "a function has more than 128 inputs, outputs and states",
     .evidence = {{kDerived, "ane-book", "the driver's parameters have 128 slots for buffers"},
                  {kDerived, "emilio", "its virtual device has 32 inputs and 32 outputs"}},
     .remedy = "fewer layers in a package, or one packed state",
     .hints = {{kOption, "--kv-form slice"},
               {kOption, "--shards each"},
               {kRewrite, "pack the caches of all layers into one tensor"}},
     .find = find_many_ports},
    {.id = "more-than-three-layers",
     .severity = Severity::kNote,
     .statement = "a package has more than three layers",
     .evidence = {{kStated, "ane-book, chapter 1", "one to three layers in a package"},
                  {kMeasured, "ane-book", "packages of 20, 4 and 6 layers of Phi-4-mini run",
                   kAgainst}},
     .remedy = "nothing: later plans of ane-book have up to 20 layers",
     .hints = {{kOption, "--shards each"},
               {kRewrite, "cut the model between two layers into several packages"},
               {kNothing, "later reports have up to 20 layers in a package"}},
     .find = find_more_layers_than_three},
};

}  // namespace

std::span<const Law> size_laws() {
  return kSizeLaws;
}

}  // namespace anemone::ane
