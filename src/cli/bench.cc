// SPDX-License-Identifier: Apache-2.0
#include "cli/bench.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/executors.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "bench/load_time.h"
#include "bench/plan_report.h"
#include "bench/speculation.h"
#include "bench/suite.h"
#include "cli/bench_explain.h"
#include "cli/interrupt.h"
#include "cli/model_folder.h"
#include "cli/model_path.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "cli/output_place.h"
#include "mlpackage/compiled_reader.h"

namespace anemone::cli {
namespace {

constexpr std::size_t kMaxEntries = 32;

// "128,512": numbers from `least` to `most`.
Result<std::vector<std::int64_t>> parse_list(const std::string& text, std::string_view flag,
                                             std::int64_t least, std::int64_t most) {
  const auto wrong = [&] {
    return invalid_argument(
        "[{}] expected at most {} numbers from {} to {}, as in 128,512, got "
        "\"{}\"",
        flag, kMaxEntries, least, most, text);
  };
  std::vector<std::int64_t> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < least || value > most || out.size() == kMaxEntries)
      return wrong();
    out.push_back(value);
    if (next == end) return out;
    if (*next != ',') return wrong();
    at = next + 1;
  }
}

// Zero stands for no such test.
std::vector<std::int64_t> without_zero(std::vector<std::int64_t> values) {
  std::erase(values, 0);
  return values;
}

Result<BenchOptions> parse(const BenchFlags& flags, const Context& context) {
  constexpr std::int64_t kMaxTokens = 1 << 20;
  BenchOptions out;
  out.executor = context.executor();
  out.repetitions = flags.repetitions;
  ANEMONE_ASSIGN_OR_RETURN(out.prefill, parse_list(flags.prefill, "--prefill", 0, kMaxTokens));
  ANEMONE_ASSIGN_OR_RETURN(out.decode, parse_list(flags.decode, "--decode", 0, kMaxTokens));
  ANEMONE_ASSIGN_OR_RETURN(out.streams, parse_list(flags.streams, "--streams", 1, 256));
  out.prefill = without_zero(std::move(out.prefill));
  out.decode = without_zero(std::move(out.decode));
  if (flags.depth) {
    ANEMONE_ASSIGN_OR_RETURN(out.depths, parse_list(*flags.depth, "--depth", 0, kMaxTokens));
  } else if (flags.plot.empty()) {
    out.depths = {0};
  }
  out.threads = {context.threads > 0 ? context.threads : default_thread_count()};
  if (flags.threads) {
    ANEMONE_ASSIGN_OR_RETURN(out.threads, parse_list(*flags.threads, "--threads", 1, 1024));
  }
  return out;
}

// Flags that contradict each other, before a model is loaded.
Status check_bench_flags(const BenchFlags& flags) {
  if (flags.is_suite && flags.is_explain)
    return invalid_argument(
        "[--suite] cannot be combined with --explain (see anemone bench --help)");
  if (flags.drafts.is_on() && (flags.is_suite || flags.is_explain || !flags.plot.empty()))
    return invalid_argument(
        "[--draft] cannot be combined with --suite, --explain or --plot (see anemone bench "
        "--help)");
  if (flags.plot.empty()) return {};
  if (flags.is_suite || flags.is_explain)
    return invalid_argument(
        "[--plot] cannot be combined with --suite or --explain (see anemone "
        "bench --help)");
  if (!flags.plot.ends_with(".svg") && !flags.plot.ends_with(".html"))
    return invalid_argument("[--plot] expected a name that ends in .svg or .html, got \"{}\"",
                            flags.plot);
  ANEMONE_ASSIGN_OR_RETURN(const std::string model, model_path(flags.dir));
  return check_output_file(flags.plot, model);
}

// The process that bench starts to measure a load.
Status run_load_child(const BenchOptions& options, std::int64_t start_ns) {
  ANEMONE_ASSIGN_OR_RETURN(const auto executor,
                           api::make_executor(options.executor_of(options.threads.front())));
  ANEMONE_ASSIGN_OR_RETURN(const bench::LoadTime load,
                           bench::measure_own_load(options.folder, *executor, start_ns));
  return print_json(bench::load_time_to_json(load));
}

Status run_speed(const BenchFlags& flags, const BenchOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const BenchReport report, measure(options));
  if (!flags.plot.empty())
    ANEMONE_RETURN_IF_ERROR(
        write_file(flags.plot, bench_plot(report, flags.plot.ends_with(".html"))));
  if (!flags.is_json) return print_report(bench_table(report));
  for (const std::string& note : report.notes) print_err("note: {}\n", escaped(note));
  return print_json(bench_json(report), 2);
}

Status run_prompt_suite(const BenchFlags& flags, const BenchOptions& options) {
  const std::int64_t threads = options.threads.front();
  ANEMONE_ASSIGN_OR_RETURN(const auto model, load_for_bench(options, threads, true));
  bench::SuiteResult result;
  {
    ProgressReport bar("suite", Progress::Unit::kItems);
    bench::SuiteOptions suite;
    suite.cancel = &interrupt_flag();
    suite.on_progress = std::ref(bar);
    ANEMONE_ASSIGN_OR_RETURN(result, bench::run_suite(model, suite));
  }
  ANEMONE_ASSIGN_OR_RETURN(const bench::LoadTime load, load_time(options, threads));
  result.cold_start_ms = load.first_token_ms;
  const std::string& isa = options.executor.isa;
  const std::string mode =
      options.executor.kind == "coreml"
          ? "coreml"
          : fmt::format("cpu, {}, {} threads", isa.empty() ? "best instructions" : isa, threads);
  if (flags.is_json) return print_json(bench::to_json(result, model->manifest().name, mode), 2);
  return print_report(describe_model(*model) + "\n" + suite_table(result));
}

Status run_speculation(const BenchFlags& flags, const BenchOptions& options,
                       const Context& context) {
  ANEMONE_ASSIGN_OR_RETURN(const auto model,
                           load_for_bench(options, options.threads.front(), false));
  bench::SpeculationTest test;
  ANEMONE_ASSIGN_OR_RETURN(test.speculation, load_speculation(flags.drafts, {&model, 1}, context));
  test.tokens = options.decode.empty() ? 0 : options.decode.front();
  test.repetitions = options.repetitions;
  test.cancel = &interrupt_flag();
  std::vector<bench::SpeculationSpeed> speeds;
  {
    ProgressReport bar("measuring", Progress::Unit::kItems);
    std::uint64_t runs = 0;
    test.on_run = [&] { bar(++runs, 4 * static_cast<std::uint64_t>(options.repetitions + 1)); };
    ANEMONE_ASSIGN_OR_RETURN(speeds, bench::measure_speculation(model, test));
  }
  if (!flags.is_json)
    return print_report(describe_model(*model) + "\n" + bench::speculation_table(speeds));
  Json out = Json::array();
  for (const bench::SpeculationSpeed& speed : speeds) out.push_back(bench::to_json(speed));
  return print_json(out, 2);
}

// By the name: on some systems manifest.json of a model is also found as Manifest.json.
bool is_package(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  return extension == ".mlpackage" || extension == ".mlmodel" ||
         mlpackage::is_compiled_folder(path);
}

Status run_bench(const BenchFlags& flags, const Context& context) {
  ANEMONE_RETURN_IF_ERROR(check_bench_flags(flags));
  ANEMONE_ASSIGN_OR_RETURN(BenchOptions options, parse(flags, context));
  if (options.prefill.empty() && options.decode.empty() && !flags.is_suite && !flags.is_explain)
    return invalid_argument(
        "[--decode] there is nothing to measure: --decode and --prefill are both 0");
  if (is_package(flags.dir)) return run_bench_package(flags, options, flags.dir);
  if (!flags.function.empty())
    return invalid_argument("[--function] expected a package, got {}", flags.dir);
  if (!flags.values.empty())
    return invalid_argument("[--input] expected a package, got {}", flags.dir);
  ANEMONE_ASSIGN_OR_RETURN(const FoundArtifact found,
                           artifact_folder(flags.dir, {context.threads, flags.checks_hashes}));
  options.folder = found.folder;
  if (flags.load_start_ns) return run_load_child(options, *flags.load_start_ns);
  if (flags.is_suite) return run_prompt_suite(flags, options);
  if (flags.is_explain) return run_explain(options, flags.is_json);
  if (flags.drafts.is_on()) return run_speculation(flags, options, context);
  return run_speed(flags, options);
}

}  // namespace

void add_bench_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure speed, load time and memory against the machine's limits");
  command
      ->add_option("DIR", flags->dir,
                   "Artifact folder, checkpoint folder or GGUF file; or a .mlpackage or .mlmodelc")
      ->required();
  command->add_option("--function", flags->function,
                      "Function of a package to run (default: its default function)");
  command
      ->add_option("--input", flags->values,
                   "NAME=VALUE for an input of a package, as predict takes it (repeatable; others: "
                   "random)")
      ->allow_extra_args(false);
  command->add_option("--prefill", flags->prefill,
                      "Lengths of prompts to read, with commas; 0: none (default: 128,512)");
  command->add_option("--decode", flags->decode,
                      "Steps to decode, with commas; 0: none (default: 64)");
  command->add_option("--depth", flags->depth,
                      "Tokens in the context before the test, with commas (default: 0; for a plot: "
                      "five\ndepths over the context)");
  command->add_option("--streams", flags->streams,
                      "Sessions that decode in one batch, with commas (default: 1)");
  command->add_option("--threads", flags->threads,
                      "Threads, with commas (default: all that this process may use)");
  command->add_option("--reps", flags->repetitions, "Repetitions of each test (default: 3)")
      ->check(whole_numbers(1, 1000));
  command->add_flag(
      "--suite", flags->is_suite,
      "Measure five prompts from a word to a page, a cold start and one repeated prompt\ninstead");
  command->add_flag(
      "--explain", flags->is_explain,
      "Print the execution plan instead: fused operations, bytes, FLOPs and time of each step");
  add_draft_flags(*command, flags->drafts);
  command->add_flag("--json", flags->is_json, "Machine-readable output");
  add_check_hashes_flag(*command, flags->checks_hashes);
  command->add_option("--plot", flags->plot,
                      "FILE.svg or FILE.html: also plot the speed over the depth");
  command->add_option("--load-start-ns", flags->load_start_ns)->group("");
  command->footer(
      "bench measures first how fast the machine reads memory and multiplies. Every speed stands "
      "beside\nthe limit that follows from it for this model. Each test checks its logits before "
      "it counts. Of a package it measures how long one function takes, on random inputs "
      "where --input gives none.\n"
      "\n"
      "Examples:\n"
      "  anemone bench model.anemone\n"
      "  anemone bench model.anemone --prefill 512 --decode 64 --depth 0,2048 --streams 1,8 "
      "--json\n"
      "  anemone bench model.anemone --prefill 0 --plot decode.svg\n"
      "  anemone bench model.anemone --draft-ngram --decode 256          # with and without "
      "drafts\n"
      "  anemone bench model.anemone --explain\n"
      "  anemone bench classifier.mlpackage --reps 50 --threads 1,2");
  command->callback([flags, &context] {
    context.action = [flags, &context] { return run_bench(*flags, context); };
  });
}

}  // namespace anemone::cli
