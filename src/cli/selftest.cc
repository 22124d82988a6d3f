// SPDX-License-Identifier: Apache-2.0
// `anemone selftest`: whether an executor of this machine computes what the reference interpreter
// does, in every form that compile writes.
#include "selftest/selftest.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "ane/form.h"
#include "api/executors.h"
#include "api/residency.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/progress.h"
#include "base/scratch_folder.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "cli/output_place.h"
#include "cli/placement.h"
#include "exec/coreml/compiled_cache.h"

namespace anemone::cli {
namespace {

struct SelftestFlags {
  std::string json;
  std::vector<std::string> forms;
  std::vector<std::string> quants;
  std::uint64_t seed = 1;
  bool is_full = false;
  bool is_small = false;
};

// The builds that the flags leave: they name forms and weights that there are.
std::vector<selftest::Build> chosen(const SelftestFlags& flags, bool has_large) {
  std::vector<selftest::Build> all = selftest::all_builds(has_large);
  const auto is_unwanted = [](const std::vector<std::string>& names, const std::string& name) {
    return !names.empty() && std::ranges::find(names, name) == names.end();
  };
  std::erase_if(all, [&](const selftest::Build& build) {
    return is_unwanted(flags.forms, build.form) || is_unwanted(flags.quants, build.quant);
  });
  return all;
}

template <typename Names>
std::vector<std::string> words_of(const Names& names) {
  return {names.begin(), names.end()};
}

Json machine_json() {
  const Machine machine = describe_machine();
  return {{"system", machine.system},
          {"kernel", machine.kernel},
          {"architecture", machine.architecture},
          {"processor", machine.processor},
          {"instruction_sets", machine.instruction_sets}};
}

// Small models are compared with the interpreter, large ones with the CPU engine unless that is
// what is tested: the interpreter takes minutes for them.
Result<selftest::Results> run_all(exec::Executor& tested, const selftest::Options& options) {
  selftest::Results out;
  for (const bool is_large : {false, true}) {
    selftest::Options part = options;
    std::erase_if(part.builds,
                  [&](const selftest::Build& build) { return build.is_large != is_large; });
    if (part.builds.empty()) continue;
    const bool uses_interpreter = !is_large || tested.name() == "cpu";
    ANEMONE_ASSIGN_OR_RETURN(
        const auto reference,
        api::make_executor({.threads = options.threads,
                            .isa = std::string(uses_interpreter ? api::kReferenceIsa : "")}));
    ANEMONE_ASSIGN_OR_RETURN(selftest::Results results, selftest::run({tested, *reference}, part));
    const std::string name =
        uses_interpreter ? "the reference interpreter" : "the CPU engine (large models)";
    if (out.builds.empty()) {
      out = std::move(results);
      out.reference = name;
      continue;
    }
    if (out.reference != name) out.reference += " and " + name;
    std::ranges::move(results.builds, std::back_inserter(out.builds));
  }
  return out;
}

Status run_selftest(const SelftestFlags& flags, const Context& context) {
  const bool is_coreml = context.executor_kind == "coreml";
  if (context.isa == api::kReferenceIsa)
    return invalid_argument(
        "[--isa] expected kernels that are compared with the interpreter, got reference, which is "
        "the interpreter");
  ANEMONE_RETURN_IF_ERROR(check_output_files(std::span(&flags.json, 1), {}));
  ANEMONE_ASSIGN_OR_RETURN(const ScratchFolder scratch,
                           ScratchFolder::create_temporary("anemone-selftest"));
  const std::string compiled = scratch.path() + "/coreml";
  api::ExecutorOptions with = context.executor();
  // What Core ML compiles goes away with the rest, and is compiled each time.
  with.coreml_cache = [&]() -> Result<std::string> {
    ANEMONE_RETURN_IF_ERROR(make_directories(compiled));
    return compiled;
  };
  // A package that Core ML refuses has not passed, whatever the CPU makes of it.
  with.falls_back = false;
  // Each of the packages is compiled for the first time, which a note would say of each.
  if (is_coreml) with.on_note = {};
  ANEMONE_ASSIGN_OR_RETURN(const auto tested, api::make_executor(with));
  ProgressReport bar("checking", Progress::Unit::kItems);
  selftest::Options options;
  options.builds = chosen(flags, flags.is_full || (is_coreml && !flags.is_small));
  options.seed = flags.seed;
  options.threads = context.threads;
  options.scratch = scratch.path();
  options.cancel = &interrupt_flag();
  options.progress = std::ref(bar);
  if (is_coreml) {
    options.forget = [&] {
      const auto freed = exec::coreml::clear_compiled(compiled);
      if (!freed.ok()) ANEMONE_DEBUG("{}", freed.status().message());
    };
    options.place = [](const engine::Model& model) -> Result<exec::Placement> {
      ANEMONE_ASSIGN_OR_RETURN(const api::ModelResidency placed, api::residency_of(model));
      return placed.totals();
    };
  }
  const auto results = run_all(*tested, options);
  bar.clear();
  if (!results.ok()) return results.status();
  Json json = selftest::report_json(*results);
  json["machine"] = machine_json();
  if (!flags.json.empty())
    ANEMONE_RETURN_IF_ERROR(write_file(flags.json, dump_json(json, 1) + "\n"));
  ANEMONE_RETURN_IF_ERROR(print_report(selftest::report_text(*results)));
  const auto failed =
      std::ranges::count_if(results->builds, [](const auto& each) { return !each.passed(); });
  if (failed == 0) return {};
  return check_not_met("[selftest] expected the numbers of {}, got others in {} of {} models{}",
                       results->reference, failed, results->builds.size(),
                       flags.json.empty() ? " (--json FILE writes a file for a report)" : "");
}

}  // namespace

void add_selftest_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<SelftestFlags>();
  CLI::App* command = app.add_subcommand(
      "selftest", "Check that this machine computes what the reference interpreter does");
  command->add_option("--json", flags->json, "Write the results to this file, for a report");
  const auto add_list = [&](const char* flag, std::vector<std::string>& values, const char* what,
                            const std::vector<std::string>& words) {
    context.words[command->add_option(flag, values, what)
                      ->transform(one_of(words))
                      ->delimiter(',')
                      ->allow_extra_args(false)] = {words};
  };
  add_list("--form", flags->forms, "These forms alone, as in portable,slice-states",
           words_of(ane::form_names()));
  add_list("--quant", flags->quants, "These weights alone, of none, lut6 and int8",
           words_of(selftest::quant_names()));
  command->add_option("--seed", flags->seed, "Of the random weights, inputs and tokens")
      ->check(seeds())
      ->capture_default_str();
  CLI::Option* full = command->add_flag(
      "--full", flags->is_full,
      "Models of 4 layers of 1024 channels, too, which Core ML does not leave to the CPU\n"
      "(default with --executor coreml; up to 0.6 GB on disk and some minutes)");
  command->add_flag("--small", flags->is_small, "No large models with --executor coreml, either")
      ->excludes(full);
  command->footer(
      "Models of random weights are made in every form and with every kind of weights, run\n"
      "through the executor (--executor) and compared with the interpreter: each function of\n"
      "each package by itself, and the logits of whole models. Where numbers differ, the first\n"
      "operation that computes something else is looked for. With Core ML, where it plans to\n"
      "run the operations. Needs no network and no model. Exit code 1 when numbers differ.\n"
      "\n"
      "Examples:\n"
      "  anemone selftest\n"
      "  anemone selftest --executor coreml --json selftest.json    # on a Mac\n"
      "  anemone selftest --form blend-states --quant int8");
  command->callback([flags, &context] {
    context.action = [flags, &context] { return run_selftest(*flags, context); };
  });
}

}  // namespace anemone::cli
