// SPDX-License-Identifier: Apache-2.0
// `anemone bench`: flags (bench.cc), the measurements (bench_run.cc) and what is printed of them
// (bench_output.cc); of a package that is no model, both (bench_package.cc).
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load_time.h"
#include "bench/record.h"
#include "bench/suite.h"
#include "cli/command.h"
#include "cli/draft_flags.h"
#include "engine/model/model.h"

namespace anemone::cli {

// The flags as the user gave them; a list is numbers with commas between.
struct BenchFlags {
  std::string dir;
  std::string function;             // of a package; empty: the default function
  std::vector<std::string> values;  // of inputs of a package, NAME=VALUE
  std::string prefill = "128,512";
  std::string decode = "64";
  std::optional<std::string> depth;
  std::string streams = "1";
  std::optional<std::string> threads;
  int repetitions = 3;
  bool is_suite = false;
  bool is_explain = false;
  bool is_json = false;
  bool checks_hashes = false;
  std::string plot;
  DraftFlags drafts;
  // A hidden flag, with which this executable starts itself to measure a load; see
  // bench/load_time.h.
  std::optional<std::int64_t> load_start_ns;
};

struct BenchOptions {
  std::string folder;  // the artifact
  std::vector<std::int64_t> prefill;
  std::vector<std::int64_t> decode;
  std::vector<std::int64_t> depths;  // empty: some over the whole context, for a plot
  std::vector<std::int64_t> streams;
  std::vector<std::int64_t> threads;
  int repetitions = 3;
  api::ExecutorOptions executor;  // but for its threads

  api::ExecutorOptions executor_of(std::int64_t threads_of_test) const {
    api::ExecutorOptions out = executor;
    out.threads = static_cast<int>(threads_of_test);
    return out;
  }
};

// Loads a model for so many threads, with a progress bar.
Result<std::shared_ptr<const engine::Model>> load_for_bench(const BenchOptions& options,
                                                            std::int64_t threads, bool load_text);

// Time from the start of a process to its first token, measured in processes of their own. The
// model must load.
Result<bench::LoadTime> load_time(const BenchOptions& options, std::int64_t threads);

struct BenchReport {
  std::string model;  // for people: "pocket, int8, context 512; unverified"
  std::vector<bench::Record> records;
  std::vector<std::string> notes;
};
// kInvalidArgument when no test fits the context.
Result<BenchReport> measure(const BenchOptions& options);

// "name, int8, context 512; verified".
std::string describe_model(const engine::Model& model);

std::string bench_table(const BenchReport& report);
Json bench_json(const BenchReport& report);
// A chart of decoding and one of reading prompts over what was there before, for a name that ends
// in .svg (decoding, or prompts where there is no decoding) or .html (both).
std::string bench_plot(const BenchReport& report, bool is_html);

// How long one function of a package or a compiled model takes on the inputs of --input, and on
// random ones in place of others, which is printed.
// kInvalidArgument for flags that are about models, kInternal when a run gives other values than
// the first.
Status run_bench_package(const BenchFlags& flags, const BenchOptions& options,
                         const std::string& path);

std::string suite_table(const bench::SuiteResult& result);

}  // namespace anemone::cli
