// SPDX-License-Identifier: Apache-2.0
// `anemone probe`: packages with which a Mac settles what is contested about the chip.
#include "probe/probe.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/executors.h"
#include "base/error.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/number_range.h"
#include "cli/output.h"

namespace anemone::cli {
namespace {

struct ProbeFlags {
  std::string output;
  std::vector<std::string> only;
  std::uint64_t seed = 1;
  bool is_list = false;
  bool is_dry_run = false;
};

Status print_list(const std::vector<probe::Probe>& chosen) {
  std::string text;
  std::string_view question;
  for (const probe::Probe& each : chosen) {
    if (each.question != question)
      text += fmt::format("{}{}\n  ({})\n", text.empty() ? "" : "\n", each.question, each.source);
    question = each.question;
    text += fmt::format("  {:<20} {}\n", each.id, each.differs);
  }
  return print_report(text);
}

Status print_plan(const std::vector<probe::Probe>& chosen, const probe::Options& options) {
  ANEMONE_ASSIGN_OR_RETURN(const probe::ProbePlan plan, probe::plan_probes(chosen, options));
  std::string text;
  for (const probe::PlannedProbe& each : plan.probes) {
    text += fmt::format("{:<20} {:>10}", each.id, format_bytes(each.bytes));
    if (!each.packages_of.empty()) text += fmt::format("  shared with {}", each.packages_of);
    text += "\n";
  }
  return print_report(text + fmt::format("{:<20} {:>10}\n", "all", format_bytes(plan.total_bytes)));
}

Status run_probe(const ProbeFlags& flags, const Context& context) {
  ANEMONE_ASSIGN_OR_RETURN(const auto chosen, probe::choose(flags.only));
  if (flags.is_list) return print_list(chosen);
  probe::Options options;
  options.seed = flags.seed;
  options.threads = context.threads;
  options.cancel = &interrupt_flag();
  if (flags.is_dry_run) return print_plan(chosen, options);
  if (flags.output.empty())
    return invalid_argument("expected -o DIR, got none (see anemone probe --help)");
  ANEMONE_ASSIGN_OR_RETURN(const auto executor, api::make_executor(context.executor()));
  ProgressReport bar("probes", Progress::Unit::kItems);
  const Status status =
      probe::write_probes(chosen, flags.output, options, *executor, std::ref(bar));
  bar.clear();
  ANEMONE_RETURN_IF_ERROR(status);
  return print_report(
      fmt::format("{}: {} probes; on a Mac, in that folder:\n"
                  "  swiftc -O -parse-as-library probe.swift -o probe && ./probe\n",
                  escaped(flags.output), chosen.size()));
}

}  // namespace

void add_probe_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ProbeFlags>();
  CLI::App* command = app.add_subcommand(
      "probe", "Write packages with which a Mac settles contested questions about the chip");
  command->add_option("-o,--output", flags->output, "Folder to write, new or empty");
  const CLI::Option* only =
      command->add_option("--only", flags->only, "These probes alone: ids of --list, as in A,B")
          ->delimiter(',')
          ->allow_extra_args(false);
  for (const probe::Probe& each : probe::probes()) context.words[only].words.emplace_back(each.id);
  command->add_option("--seed", flags->seed, "Of the random weights and inputs")
      ->check(seeds())
      ->capture_default_str();
  command->add_flag("--list", flags->is_list, "Show the questions and their probes");
  command->add_flag("--dry-run", flags->is_dry_run, "Show what each probe would take on disk");
  command->footer(
      "Models and graphs of random weights, large enough that Core ML does not leave them to the\n"
      "CPU, with inputs and expected outputs. probe.swift runs them on a Mac and writes "
      "placement,\n"
      "load times, latencies and cosines to results.json.\n"
      "\n"
      "Examples:\n"
      "  anemone probe --list\n"
      "  anemone probe -o kit --only cache-blend,cache-readonly");
  command->callback([flags, &context] {
    context.action = [flags, &context] { return run_probe(*flags, context); };
  });
}

}  // namespace anemone::cli
