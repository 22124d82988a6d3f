// SPDX-License-Identifier: Apache-2.0
#include "cli/compile_flags.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>
#include <utility>

#include "ane/form.h"
#include "ane/package_plan.h"
#include "artifact/form.h"
#include "cli/number_range.h"
#include "compiler/recipe.h"

namespace anemone::cli {

namespace {

template <typename Names>
std::vector<std::string> strings(const Names& names) {
  return {names.begin(), names.end()};
}

// The words of the flags of add_compile_flags().
void know_words(CLI::App& command, Context& context) {
  const auto know = [&](const char* flag, std::vector<std::string> words, bool or_file = false) {
    context.words[command.get_option(flag)] = {std::move(words), or_file};
  };
  const auto values = [](std::string_view name) {
    const auto fields = artifact::form_fields();
    return strings(std::ranges::find(fields, name, &artifact::FormField::name)->values);
  };
  know("--for", {"ane", "cpu"});
  know("--precision", {"fp16", "fp32"});
  know("--quant", strings(compiler::recipe_names()));
  know("--form", strings(ane::form_names()), true);
  know("--layout", values("layout"));
  know("--kv-form", values("cache"));
  know("--experts", values("experts"));
  know("--shards", {"auto", "each"});
  know("--plan", strings(ane::plan_names()), true);
  know("--target", {"ios16", "ios17", "ios18", "macos13", "macos14", "macos15"});
  know("--lut-mode", {"kmeans", "uniform"});
  context.words[command.get_option("--quant-for")] = {
      .words = strings(compiler::role_names()), .after_equals = strings(quant::scheme_names())};
}

}  // namespace

void add_compile_flags(CLI::App& command, CompileFlags& options, Context& context) {
  command
      .add_option("MODEL", options.model,
                  "Checkpoint folder (config.json, *.safetensors), GGUF file, or OWNER/NAME that "
                  "was pulled")
      ->required();
  command.add_option("-o,--output", options.output, "Artifact folder to write")->required();
  command.add_option("--name", options.name,
                     "The model's name in the artifact and in the descriptions of its packages\n"
                     "(default: that of the folder, file or repository)");
  command
      .add_option("--for", options.processor,
                  "What it is compiled for: ane, or cpu, where weights keep the checkpoint's form")
      ->capture_default_str();
  command
      .add_option("--precision", options.precision,
                  "fp16, or fp32 (caches become inputs and outputs)")
      ->capture_default_str();
  command
      .add_option(
          "--quant", options.quantization,
          "How weights are stored: none, int8 (one scale per matrix), int8-channel,\n"
          "int8-block, int4-block, lut4, lut6, lut8, mixed (MLP int4-block, rest int8),\n"
          "keep (the checkpoint's form; for ane palettes of its bits), or auto: lut6, and\n"
          "lut8 for the head, where a checkpoint is not quantized; for cpu the same as keep")
      ->capture_default_str();
  command
      .add_option(
          "-c,--context", options.contexts,
          "Tokens that fit into the KV cache (default: 2048 or the model's maximum).\n"
          "Several, as in 256,2048: a set of functions for each; all share the largest cache")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(token_counts(1, std::int64_t{1} << 24));
  command
      .add_option("--prefill", options.prefill,
                  "Tokens that one prefill step takes; 1: decode only (default: 64; 16 with linear "
                  "attention\nwhere the form limits the operations of a package)")
      ->check(whole_numbers(1, std::int64_t{1} << 16));
  command
      .add_option("--draft-width", options.draft_width,
                  "Tokens of a third function, between decoding and --prefill, that checks drafts "
                  "and\ntakes short remainders; 0: none")
      ->check(whole_numbers(0, std::int64_t{1} << 16))
      ->capture_default_str();
  // The old name of --draft-width.
  command.add_option("--verify", options.draft_width)
      ->check(whole_numbers(0, std::int64_t{1} << 16))
      ->group("");
  command.add_flag(
      "--range-dim", options.has_range_dim,
      "One function that takes 1 to --prefill tokens, instead of one function per width");
  command.add_flag("--argmax", options.has_argmax,
                   "The head gives the most likely token and no logits (greedy decoding only)");
  command.add_option(
      "--form", options.form,
      fmt::format("How graphs are written: {}, or a JSON file\nwith fields of it (default: {}); "
                  "--dry-run shows them",
                  fmt::join(ane::form_names(), ", "), ane::form_names().front()));
  command.add_option("--layout", options.layout,
                     "Where tokens lie in hidden states: height [1, C, T, 1] or width [1, C, 1, "
                     "T]\n(default: as --form says)");
  command.add_option(
      "--kv-form", options.cache,
      "readonly: KV caches are inputs, the rows of a step are outputs, and the host "
      "appends\nthem; growing: the same, but a step takes no more of them than there is room "
      "for\nnow; slice: a package writes one state for all its layers, at the position of "
      "the\nstep; or blend: states of each layer, through a matrix (default: as --form says)");
  command.add_option(
      "--experts", options.experts,
      "dense: all experts of a layer in the graph, each multiplied by its weight; or\n"
      "packs: in packages of their own, of which the host runs the active ones\n"
      "(default: as --form says)");
  CLI::Option* shards =
      command
          .add_option("--shards", options.shards,
                      "Layers by package: auto (at most 250 MB, 16 layers and 1,500 operations\n"
                      "each; layers with experts are cut), each, a size (100MB, also of experts\n"
                      "and heads), a number, or ranges 0:12,12:24")
          ->capture_default_str();
  command
      .add_option("--plan", options.plan,
                  fmt::format("How layers, experts and heads are cut into packages, whatever the "
                              "limits say:\na JSON file, or one of\n{}",
                              fmt::join(ane::plan_names(), ",\n")))
      ->excludes(shards);
  command
      .add_option("--target", options.target,
                  "Oldest system that loads the packages: ios16, ios17 or ios18, or macos13,\n"
                  "macos14 or macos15. Before ios18 a package has one function, no states and no "
                  "weights by "
                  "blocks")
      ->capture_default_str();
  command
      .add_option("--block-size", options.block_size,
                  "Inputs that share a scale in the block schemes")
      ->check(whole_numbers(1, std::int64_t{1} << 20))
      ->capture_default_str();
  command
      .add_option(
          "--lut-mode", options.lut_mode,
          "How palettes are made: kmeans, or uniform between the smallest and largest weight")
      ->capture_default_str();
  command
      .add_option("--group-size", options.group_size,
                  "Output channels that share a palette; 0: one palette per matrix")
      ->check(whole_numbers(0, std::int64_t{1} << 20))
      ->capture_default_str();
  command
      .add_option("--quant-for", options.quant_for,
                  "ROLE=SCHEME for one kind of weight (repeatable): qkv, attention-output,\n"
                  "gate-up, down, head, embedding")
      ->allow_extra_args(false);
  command
      .add_option("--quant-threshold", options.quant_threshold,
                  "Matrices of at most this many elements stay floats")
      ->check(at_least(0))
      ->capture_default_str();
  command.add_flag("--no-quant-head", options.keep_head, "The same as --quant-for head=none");
  command.add_option("--jobs", options.jobs, "Threads (default: --threads)")
      ->check(whole_numbers(1, 1024));
  command.add_flag("--dry-run", options.is_dry_run,
                   "Check everything and show what would be written and what check would say of\n"
                   "it, without reading weights; a config.json alone is enough");
  command.add_flag("--resume", options.is_resumed,
                   "Continue an interrupted run that had the same options; if this run is "
                   "interrupted,\nkeep its finished packages, too");
  command.add_flag("--report", options.is_detailed,
                   "Show every matrix with its error, and the time of each stage");
  command.add_flag("--json", options.is_json, "Print the report as JSON");
  know_words(command, context);
}

}  // namespace anemone::cli
