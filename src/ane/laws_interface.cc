// SPDX-License-Identifier: Apache-2.0
// Laws about states, inputs and outputs.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "ane/law_tables.h"
#include "ane/limits.h"
#include "ane/program_walk.h"
#include "base/progress.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace anemone::ane {
namespace {

using enum Evidence::Kind;
using enum Hint::Kind;

// Fewest elements of a last axis that fill the 64 bytes to which the chip pads it, in fp16.
constexpr std::int64_t kAxisMultiple = 32;
constexpr std::uint64_t kAxisBytes = 64;
constexpr std::size_t kMaxStates = 2;

// Up to this many channels of one token do not matter: 8,192 are padded to half a megabyte, which
// even 34 GB/s bring in a sixth of the time that a run costs whatever it computes.
constexpr std::int64_t kColumnChannels = 8192;

// Whether a shape is [1, C, 1, 1], the channels of one token, which the chip's convolutions take as
// they are. Logits have more channels than kColumnChannels.
bool is_column_of_token(const Shape& shape) {
  return shape.size() == 4 && shape[0] == 1 && shape[2] == 1 && shape[3] == 1 &&
         shape[1] <= kColumnChannels;
}

void report_narrow_axis(const ir::Type& type, const Place& place, const Reporter& report) {
  const std::int64_t width = dimension(&type, -1);
  const std::uint64_t bytes = bytes_of(&type);
  if (width < 1 || width >= kAxisMultiple || bytes == 0 || is_column_of_token(type.shape)) return;
  const std::uint64_t row = dtype_bytes(type.dtype, static_cast<std::uint64_t>(width));
  if (row == 0) return;
  const std::uint64_t padded = bytes / row * ((row + kAxisBytes - 1) / kAxisBytes * kAxisBytes);
  if (padded < bytes + kPageBytes) return;  // too little to be worth a change
  report(place, fmt::format("{} of {}: {}, padded to {}", to_string(type.shape),
                            dtype_name(type.dtype), format_bytes(bytes), format_bytes(padded)));
}

// The functions and inputs of the package that take a range of shapes.
std::set<std::pair<std::string_view, std::string_view>> names_of(
    const std::vector<FlexibleInput>& ranges) {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const FlexibleInput& each : ranges) names.emplace(each.function, each.input);
  return names;
}

void find_state_widths(const Package& package, const Reporter& report) {
  for (const ir::Function* function : package.program.functions())
    for (const ir::Value* input : function->inputs) {
      const Shape& shape = input->type.shape;
      if (input->type.is_state() && !shape.empty() && shape.back() % kAxisMultiple != 0)
        report({Place::Kind::kState, function->name, input->name},
               fmt::format("a last dimension of {}", shape.back()));
    }
}

void find_state_shapes(const Package& package, const Reporter& report) {
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

void find_many_states(const Package& package, const Reporter& report) {
  for (const ir::Function* function : package.program.functions()) {
    const auto count = static_cast<std::size_t>(std::ranges::count_if(
        function->inputs, [](const ir::Value* input) { return input->type.is_state(); }));
    if (count > kMaxStates)
      report({Place::Kind::kFunction, function->name}, fmt::format("{} states", count));
  }
}

void find_narrow_axes(const Package& package, const Reporter& report) {
  for (const ir::Function* function : package.program.functions()) {
    for (const ir::Value* input : function->inputs)
      if (!input->type.is_state())
        report_narrow_axis(input->type, {Place::Kind::kInput, function->name, input->name}, report);
    if (function->block == nullptr) continue;
    for (const ir::Value* output : function->block->outputs)
      report_narrow_axis(output->type, {Place::Kind::kOutput, function->name, output->name},
                         report);
  }
}

void find_ranges(const Package& package, const Reporter& report) {
  for (const FlexibleInput& each : package.ranges)
    report({Place::Kind::kInput, each.function, each.input}, "a range of shapes");
}

void find_ranges_with_states(const Package& package, const Reporter& report) {
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
      report({Place::Kind::kFunction, function->name}, "states, fixed inputs and ranges");
  }
}

void find_states_with_lists(const Package& package, const Reporter& report) {
  const auto lists = names_of(package.lists);
  for (const ir::Function* function : package.program.functions()) {
    if (!has_states(*function)) continue;
    for (const ir::Value* input : function->inputs)
      if (lists.contains({function->name, input->name}))
        report({Place::Kind::kInput, function->name, input->name}, "a list of shapes");
  }
}

void find_lists(const Package& package, const Reporter& report) {
  for (const FlexibleInput& each : package.lists)
    report({Place::Kind::kInput, each.function, each.input}, "a list of shapes");
}

// Activations, that is tensors of more than a page: small ones may have any rank.
void find_other_ranks(const Package& package, const Reporter& report) {
  const auto look = [&](const ir::Value& value, const Place& place) {
    if (!value.type.is_state() && value.type.shape.size() != 4 &&
        bytes_of(&value.type) > kPageBytes)
      report(place, to_string(value.type.shape));
  };
  for (const ir::Function* function : package.program.functions()) {
    for (const ir::Value* input : function->inputs)
      look(*input, {Place::Kind::kInput, function->name, input->name});
    if (function->block == nullptr) continue;
    for (const ir::Value* output : function->block->outputs)
      look(*output, {Place::Kind::kOutput, function->name, output->name});
  }
}

// What the caller has to carry from run to run: an input that a product of two run-time tensors
// reads as a past, or that comes back as an output of the same type.
void find_carried_caches(const Package& package, const Reporter& report) {
  for (const SurveyedFunction& surveyed : package.survey.functions) {
    const ir::Function* function = surveyed.function;
    if (function->block == nullptr) continue;
    std::set<const ir::Value*> factors;
    for (const SurveyedOperation& each : surveyed.operations) {
      if (each.op->type != "matmul") continue;
      for (const char* parameter : {"x", "y"})
        if (const ir::Value* value = each.op->input(parameter)) factors.insert(value);
    }
    const auto& outputs = function->block->outputs;
    for (const ir::Value* input : function->inputs) {
      if (input->type.is_state() || bytes_of(&input->type) <= kPageBytes) continue;
      const bool comes_back = std::ranges::any_of(outputs, [&](const ir::Value* output) {
        return output->name.starts_with(input->name) && output->type == input->type;
      });
      // In a function with states the masks of its caches are factors.
      if ((factors.contains(input) && !has_states(*function)) || comes_back)
        report({Place::Kind::kInput, function->name, input->name},
               to_string(input->type.shape) + (comes_back ? " goes in and out" : " goes in"));
    }
  }
}

void find_later_versions(const Package& package, const Reporter& report) {
  if (package.target_version != 0 && package.needed_version > package.target_version)
    report({}, fmt::format("specification version {}, {} at most for the target",
                           package.needed_version, package.target_version));
}

constexpr Law kInterfaceLaws[] = {
    {.id = "state-width",
     .severity = Severity::kRefused,
     .statement = "the last dimension of a state is no multiple of 32",
     .evidence = {{kMeasured, "coremltools#2631", "fails at run time (M4)"}},
     .remedy = "pad the dimension, or make the state an input and an output",
     .hints = {{kOption, "--kv-form readonly"},
               {kForm, R"({"recurrent": "tensors"})"},
               {kRewrite,
                "pad the last dimension of the state to a multiple of 32, or make it an input and "
                "an output"}},
     .find = find_state_widths},
    {.id = "state-shapes",
     .severity = Severity::kRefused,
     .statement = "the states of a package have several shapes",
     .evidence = {{kMeasured, "CoreML-LLM LFM2 findings",
                   "7 variants with states of caches and convolutions fail at predict (0x1d); "
                   "the convolution's as input and output works"},
                  {kStated, "Anemll#50", "48 mixed states run (M1)", kAgainst}},
     .remedy = "make recurrent states inputs and outputs (recurrent: tensors in a form file)",
     .hints = {{kForm, R"({"recurrent": "tensors"})"},
               {kOption, "--kv-form readonly"},
               {kRewrite, "keep states of one shape, and make the others inputs and outputs"}},
     .systems = "macOS 26",
     .find = find_state_shapes},
    {.id = "range-states",
     .severity = Severity::kRefused,
     .statement = "a function with states has fixed inputs beside inputs with a range of shapes",
     .evidence = {{kMeasured, "coremltools#2548", "aborts"}},
     .remedy = "a function for each width (no --range-dim)",
     .hints =
         {{kRewrite,
           "give each width a function with fixed shapes (save_multifunction of coremltools)"}},
     .find = find_ranges_with_states},
    {.id = "narrow-axis",
     .severity = Severity::kSlow,
     .statement =
         "a last axis of fewer than 32 elements of a large input or output is padded to 64 "
         "bytes; up to 8,192 channels of one token, [1, C, 1, 1], are no matter",
     .evidence = {{kMeasured, "ane-book", "a stride of 32 elements for an output [64, 640, 1, 1]"},
                  {kStated, "Apple's rules", "a last axis of 1 takes 32 times the memory in fp16"},
                  {kDerived, "Apple's rules",
                   "hidden states of 896 by 64 tokens take 3.7 MB instead of 115 kB, logits of a "
                   "0.5B 9.7 MB per token"},
                  {kDerived, "memory-rate and dispatch-cost",
                   "8,192 channels of one token take 0.5 MB, which 61 GB/s bring in a tenth of "
                   "what a run costs in any case",
                   kAgainst}},
     .remedy = "put a long axis last (compile --layout width; logits: last-axis in a form file)",
     .hints = {{kOption, "--layout width"},
               {kForm, R"({"logits": "last-axis"})"},
               {kOption, "--kv-form readonly"},
               {kRewrite, "transpose inputs and outputs so that their longest axis is the last"}},
     .find = find_narrow_axes},
    {.id = "many-states",
     .severity = Severity::kContested,
     .statement = "a function has more than two states",
     .evidence = {{kMeasured, "CoreML-LLM MLSTATE_PATTERN", "three fail, one or two work"},
                  {kMeasured, "magenta-realtime-2-iphone", "48 refused with -14 (A14, A17)"},
                  {kMeasured, "mobius#77", "refused with -14 (M5 Pro)"},
                  {kMeasured, "ane-book", "two in each of 24 layers of a 0.5B run (M4 Max)",
                   kAgainst},
                  {kStated, "Anemll#50", "48 run (M1)", kAgainst}},
     .remedy = "one packed state in a package (compile --kv-form slice), or the past as an input "
               "(--kv-form readonly)",
     .hints = {{kOption, "--kv-form slice"},
               {kOption, "--kv-form readonly"},
               {kForm, R"({"recurrent": "tensors"})"},
               {kRewrite, "pack the caches of all layers into one state, with a row for each"}},
     .find = find_many_states},
    {.id = "range-shapes",
     .severity = Severity::kContested,
     .effect = Effect::kFunctionOnCpu,
     .statement = "an input takes a range of shapes",
     .evidence = {{kStated, "coremltools#1029", "not supported on the chip"},
                  {kMeasured, "coremltools#2370", "about 0 % of the operations on the chip"},
                  {kMeasured, "ane-book", "it runs after 245 s of compiling", kAgainst}},
     .remedy = "a function for each width (no --range-dim), and a past of fixed length (--kv-form "
               "readonly)",
     .hints =
         {{kOmit, "--range-dim"},
          {kOption, "--kv-form readonly"},
          {kRewrite,
           "give each width a function with fixed shapes (save_multifunction of coremltools)"}},
     .find = find_ranges},
    {.id = "list-states",
     .severity = Severity::kRefused,
     .statement = "a function with states has an input with a list of shapes",
     .evidence = {{kMeasured, "ane-book", "std::bad_cast"}},
     .remedy = "a function for each shape",
     .hints = {{kRewrite,
                "give each shape of the list a function with fixed shapes (save_multifunction of "
                "coremltools)"}},
     .find = find_states_with_lists},
    {.id = "list-shapes",
     .severity = Severity::kContested,
     .statement = "an input takes one shape of a list",
     .evidence = {{kStated, "ANEMLL", "flexible shapes leave the chip"},
                  {kStated, "Apple", "lists of shapes are the flexible shapes that perform best",
                   kAgainst}},
     .remedy = "a function for each shape",
     .hints = {{kRewrite,
                "give each shape of the list a function with fixed shapes (save_multifunction of "
                "coremltools)"}},
     .find = find_lists},
    {.id = "rank-4",
     .severity = Severity::kNote,
     .statement = "a large input or output has another rank than 4 (ane-book: "
                  "[1, C, T, 1])",
     .evidence = {{kStated, "ane-book, chapter 1", "required"},
                  {kStated, "Apple's rules", "channels first, [B, C, 1, S]"},
                  {kMeasured, "ane-book", "[1, C, 1, S] works as well: a convention", kAgainst}},
     .remedy = "[1, C, 1, T]",
     .hints = {{kRewrite,
                "declare the input or output as [1, C, 1, T], and reshape it in the caller"}},
     .find = find_other_ranks},
    {.id = "carried-cache",
     .severity = Severity::kNote,
     .statement = "a cache is an input and not a state",
     .evidence = {{kStated, "ane-book, chapter 1", "MLState saves copies of the cache"},
                  {kMeasured, "MLKV", "states are 54 and 30 % faster than inputs and outputs"},
                  {kMeasured, "magenta-realtime-2-iphone",
                   "100 % on the chip with the cache as an input (A14), where states were refused",
                   kAgainst},
                  {kStated, "Apple's rules", "the cache is an input, new rows are outputs",
                   kAgainst},
                  {kStated, "ExecuTorch", "its static llama has the cache as an input", kAgainst},
                  {kMeasured, "ane-book", "LFM2.5 has caches as inputs and outputs and works",
                   kAgainst}},
     .remedy = "compile --kv-form slice or blend, where the chip takes states",
     .hints = {{kOption, "--kv-form slice"},
               {kOption, "--kv-form blend"},
               {kRewrite, "declare the cache as a state (StateType of coremltools)"}},
     .find = find_carried_caches},
    {.id = "target-version",
     .severity = Severity::kRefused,
     .statement =
         "the package needs a later system than the oldest one that is to load it: states, "
         "several functions, integers of fewer than eight bits, scales per block and palettes "
         "for groups of channels need iOS 18 or macOS 15",
     .evidence = {{kStated, "coremltools",
                   "specification version 9; int8 per channel and one palette of four bits work "
                   "from iOS 16 on"},
                  {kStated, "Apple's headers",
                   "MLState and functionName since macOS 15, cpuAndNeuralEngine since 13, compute "
                   "plans since 14.4"},
                  {kStated, "ane-book", "all its graphs have the target iOS 18 and fp16"}},
     .remedy = "compile --target with the oldest system: int8 per channel or one palette of four "
               "bits, and caches as inputs; or refuse older systems before a load",
     .hints = {{kOption, "--target ios16"},
               {kOption, "--target ios17"},
               {kRewrite,
                "convert for the oldest system (minimum_deployment_target of coremltools), a "
                "package for each function"}},
     .find = find_later_versions},
};

}  // namespace

std::span<const Law> interface_laws() {
  return kInterfaceLaws;
}

}  // namespace anemone::ane
