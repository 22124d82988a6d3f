// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <functional>
#include <utility>

#include "api/executors.h"
#include "artifact/verification.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/executable_path.h"
#include "base/progress.h"
#include "bench/machine_rates.h"
#include "bench/model_cost.h"
#include "bench/speed.h"
#include "cli/bench.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace anemone::cli {
namespace {

using bench::Record;

// Five depths over the context, for a plot.
std::vector<std::int64_t> plot_depths(std::int64_t context, std::int64_t steps) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < 5; ++i)
    out.push_back(std::max<std::int64_t>(0, context - steps) * i / 4);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// All tests of one number of threads.
class Measurement {
 public:
  Measurement(const BenchOptions& options, std::int64_t threads, BenchReport& report)
      : options_(options), threads_(threads), report_(report) {}

  Status run() {
    ANEMONE_ASSIGN_OR_RETURN(model_, load_for_bench(options_, threads_, false));
    report_.model = describe_model(*model_);
    ANEMONE_ASSIGN_OR_RETURN(cost_, bench::cost_of(*model_));
    collect();
    if (tests_.empty())
      return invalid_argument("[--depth] no test fits into the context of {} tokens",
                              model_->context());
    bar_(0, total_ = 2 + tests_.size(), "machine");
    rates_ = bench::measure_machine(static_cast<int>(threads_), options_.executor.isa);
    Record& machine = add(Record::Test::kMachine);
    machine.machine = rates_;
    bar_(1, total_, "load");
    ANEMONE_ASSIGN_OR_RETURN(const bench::LoadTime load, load_time(options_, threads_));
    add(Record::Test::kLoad).load = load;
    return time();
  }

 private:
  struct TestCase {
    Record::Test test;
    std::int64_t tokens, depth, streams;
  };

  Record& add(Record::Test test) {
    Record& record = report_.records.emplace_back();
    record.test = test;
    record.threads = threads_;
    return record;
  }

  // Sessions that are filled stay for the tests of the same depth.
  void collect() {
    const bench::SpeedTest fitting(model_, 1, nullptr);
    const std::int64_t steps =
        options_.decode.empty() ? 1 : *std::ranges::max_element(options_.decode);
    const auto depths =
        options_.depths.empty() ? plot_depths(model_->context(), steps) : options_.depths;
    const auto add_test = [&](const TestCase& each) {
      if (fitting.fits(each.tokens, each.depth)) return tests_.push_back(each);
      std::string note = fmt::format("skipped: {} of {} tokens at depth {}, the context is {}",
                                     each.test == Record::Test::kPrefill ? "prefill" : "decode",
                                     each.tokens, each.depth, model_->context());
      if (std::ranges::find(report_.notes, note) == report_.notes.end())
        report_.notes.push_back(std::move(note));
    };
    for (const std::int64_t tokens : options_.prefill)
      for (const std::int64_t depth : depths) add_test({Record::Test::kPrefill, tokens, depth, 1});
    for (const std::int64_t tokens : options_.decode)
      for (const std::int64_t streams : options_.streams)
        for (const std::int64_t depth : depths)
          add_test({Record::Test::kDecode, tokens, depth, streams});
  }

  Status time() {
    bench::SpeedTest test(model_, options_.repetitions, &interrupt_flag());
    std::size_t done = 2;
    for (const TestCase& each : tests_) {
      bar_(done++, total_,
           fmt::format("{} {} at depth {}",
                       each.test == Record::Test::kPrefill ? "prefill" : "decode", each.tokens,
                       each.depth));
      const bool is_prefill = each.test == Record::Test::kPrefill;
      ANEMONE_ASSIGN_OR_RETURN(const bench::Speed speed,
                               is_prefill ? test.prefill(each.tokens, each.depth)
                                          : test.decode(each.tokens, each.depth, each.streams));
      Record& record = add(each.test);
      record.tokens = each.tokens;
      record.depth = each.depth;
      record.streams = each.streams;
      record.tok_s = speed.tok_s;
      record.stddev = speed.stddev;
      const auto tokens = static_cast<double>(each.tokens);
      const auto depth = static_cast<double>(each.depth);
      if (is_prefill) {
        record.limit_tok_s = cost_.prefill_limit(rates_, each.tokens, depth);
        record.bytes_per_token = cost_.prefill_bytes(each.tokens, depth) / tokens;
      } else {
        // The middle of the steps.
        const double mean_depth = depth + (tokens - 1) / 2;
        record.limit_tok_s = cost_.decode_limit(rates_, each.streams, mean_depth);
        record.bytes_per_token =
            cost_.step_bytes(each.streams, mean_depth) / static_cast<double>(each.streams);
      }
    }
    return {};
  }

  const BenchOptions& options_;
  const std::int64_t threads_;
  BenchReport& report_;
  std::shared_ptr<const engine::Model> model_;
  bench::ModelCost cost_;
  bench::MachineRates rates_;
  std::vector<TestCase> tests_;
  std::size_t total_ = 0;
  ProgressReport bar_{"measuring", Progress::Unit::kItems};
};

}  // namespace

Result<std::shared_ptr<const engine::Model>> load_for_bench(const BenchOptions& options,
                                                            std::int64_t threads, bool load_text) {
  ANEMONE_ASSIGN_OR_RETURN(const auto executor, api::make_executor(options.executor_of(threads)));
  ProgressReport bar("loading", Progress::Unit::kItems);
  engine::ModelLoadOptions load;
  load.load_text = load_text;
  load.on_progress = std::ref(bar);
  ANEMONE_ASSIGN_OR_RETURN(auto model, engine::Model::load(options.folder, *executor, load));
  ANEMONE_RETURN_IF_ERROR(model->check_generates());
  return model;
}

Result<bench::LoadTime> load_time(const BenchOptions& options, std::int64_t threads) {
  const std::string executable = executable_path();
  if (executable.empty()) return unsupported("[bench] cannot find the path of this program");
  std::vector<std::string> arguments = {"bench", options.folder, "--threads",
                                        std::to_string(threads)};
  const api::ExecutorOptions& executor = options.executor;
  if (!executor.isa.empty()) arguments.insert(arguments.end(), {"--isa", executor.isa});
  if (!executor.delta_net.empty())
    arguments.insert(arguments.end(), {"--delta-net", executor.delta_net});
  if (!executor.kind.empty()) arguments.insert(arguments.end(), {"--executor", executor.kind});
  if (!executor.maps_weights) arguments.push_back("--no-mmap");
  arguments.push_back("--load-start-ns");
  return bench::measure_load(executable, arguments, options.repetitions);
}

std::string describe_model(const engine::Model& model) {
  const artifact::Manifest& manifest = model.manifest();
  return fmt::format("{}: {}, {}, context {}; {}", escaped(model.path()), escaped(manifest.name),
                     escaped(manifest.quantization), manifest.context,
                     artifact::verdict_name(manifest.verification));
}

Result<BenchReport> measure(const BenchOptions& options) {
  BenchReport report;
  for (const std::int64_t threads : options.threads)
    ANEMONE_RETURN_IF_ERROR(Measurement(options, threads, report).run());
  return report;
}

}  // namespace anemone::cli
