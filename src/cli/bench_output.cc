// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/plan_report.h"
#include "bench/plot.h"
#include "cli/bench.h"
#include "cli/output.h"
#include "cli/table.h"

namespace anemone::cli {
namespace {

using bench::Record;

bool is_speed(const Record& record) {
  return record.test == Record::Test::kPrefill || record.test == Record::Test::kDecode;
}

// The name of a line of the chart: the kind of test and all that is equal along the line.
std::string series_name(const Record& record) {
  const auto threads = fmt::format("{} thread{}", record.threads, record.threads == 1 ? "" : "s");
  if (record.test == Record::Test::kPrefill)
    return fmt::format("prompt of {} tokens, {}", record.tokens, threads);
  return fmt::format("{} stream{}, {}", record.streams, record.streams == 1 ? "" : "s", threads);
}

std::vector<bench::PlotSeries> series_of(const BenchReport& report, Record::Test test) {
  std::vector<bench::PlotSeries> out;
  for (const Record& record : report.records) {
    if (record.test != test) continue;
    const std::string name = series_name(record);
    auto it = std::ranges::find(out, name, &bench::PlotSeries::name);
    if (it == out.end()) it = out.insert(it, {name, {}});
    it->points.emplace_back(static_cast<double>(record.depth), record.tok_s);
  }
  for (bench::PlotSeries& series : out) std::ranges::sort(series.points);
  return out;
}

}  // namespace

std::string bench_table(const BenchReport& report) {
  std::string out = report.model + "\n";
  std::vector<std::vector<std::string>> rows = {bench::table_heading()};
  for (const Record& record : report.records)
    if (is_speed(record))
      rows.push_back(bench::table_row(record));
    else
      out += lines_for_terminal(bench::summary(record) + "\n");
  out += "\n" + bench::aligned(folded_for_terminal(rows), "", 1);
  for (const std::string& note : report.notes) out += lines_for_terminal(note + "\n");
  return out;
}

Json bench_json(const BenchReport& report) {
  Json out = Json::array();
  for (const Record& record : report.records) out.push_back(bench::to_json(record));
  return out;
}

std::string bench_plot(const BenchReport& report, bool is_html) {
  std::vector<std::string> charts;
  for (const auto& [test, what] : {std::pair(Record::Test::kDecode, "decoding"),
                                   {Record::Test::kPrefill, "reading a prompt"}}) {
    const auto series = series_of(report, test);
    if (!series.empty())
      charts.push_back(bench::plot_svg({fmt::format("{} ({})", report.model, what),
                                        "tokens that are there before", "tokens per second"},
                                       series));
  }
  if (is_html) return bench::plot_html(report.model, charts);
  return charts.empty() ? bench::plot_svg({report.model, "", ""}, {}) : charts.front();
}

std::string suite_table(const bench::SuiteResult& result) {
  std::vector<std::vector<std::string>> rows = {{"prompt", "tokens", "new", "prefill tok/s",
                                                 "decode tok/s", "first token ms", "inference ms",
                                                 "round trip ms"}};
  for (const auto& prompt : result.prompts)
    rows.push_back({prompt.name, std::to_string(prompt.prompt_tokens),
                    std::to_string(prompt.gen_tokens), fmt::format("{:.1f}", prompt.prefill_tps),
                    fmt::format("{:.1f}", prompt.decode_tps), fmt::format("{:.1f}", prompt.ttft_ms),
                    fmt::format("{:.1f}", prompt.inference_ms),
                    fmt::format("{:.1f}", prompt.roundtrip_ms)});
  std::string out = bench::aligned(folded_for_terminal(rows), "", 1);
  out += fmt::format("cold start: {:.0f} ms from the start of a process to its first token\n",
                     result.cold_start_ms);
  out += fmt::format("consistency: {} runs decode at {:.1f} tok/s, standard deviation {:.1f}\n",
                     result.consistency_tps.size(), result.consistency.tok_s,
                     result.consistency.stddev);
  return out;
}

}  // namespace anemone::cli
