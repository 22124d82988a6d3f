// SPDX-License-Identifier: Apache-2.0
#include "bench/record.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/progress.h"

namespace anemone::bench {
namespace {

std::string_view test_name(Record::Test test) {
  switch (test) {
    case Record::Test::kMachine:
      return "machine";
    case Record::Test::kLoad:
      return "load";
    case Record::Test::kPrefill:
      return "prefill";
    case Record::Test::kDecode:
      return "decode";
  }
  return "";
}

// Figures of a measurement do not have sixteen digits.
double rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

double megabytes(std::uint64_t bytes) {
  return rounded(static_cast<double>(bytes) * 1e-6);
}

}  // namespace

Json to_json(const Record& record) {
  Json out = {{"test", test_name(record.test)},
              {"tokens", record.tokens},
              {"depth", record.depth},
              {"streams", record.streams},
              {"threads", record.threads}};
  if (record.machine) {
    const MachineRates& rates = *record.machine;
    out["read_gb_s"] = rounded(rates.read_gb_s);
    out["int8_tops"] = rounded(rates.int8_tops);
    out["bf16_tflops"] = rounded(rates.bf16_tflops);
    out["int8_with"] = rates.int8_with;
    out["bf16_with"] = rates.bf16_with;
  } else if (record.load) {
    const LoadTime& load = *record.load;
    out["ready_ms"] = rounded(load.ready_ms);
    out["first_token_ms"] = rounded(load.first_token_ms);
    out["rss_mb"] = megabytes(load.memory.resident);
    out["rss_anon_mb"] = megabytes(load.memory.anonymous);
    out["mapped_mb"] = megabytes(load.memory.mapped);
    out["peak_rss_mb"] = megabytes(load.memory.peak);
    out["weights_mb"] = megabytes(load.weight_bytes);
    out["caches_mb"] = megabytes(load.cache_bytes);
  } else {
    out["tok_s"] = rounded(record.tok_s);
    out["stddev"] = rounded(record.stddev);
    out["limit_tok_s"] = rounded(record.limit_tok_s);
    out["share_of_limit"] = rounded(record.share_of_limit());
    out["bytes_per_token"] = std::round(record.bytes_per_token);
  }
  return out;
}

std::vector<std::string> table_heading() {
  return {"test",  "tokens", "depth", "streams", "threads",
          "tok/s", "+-",     "limit", "share",   "bytes/token"};
}

std::vector<std::string> table_row(const Record& record) {
  return {std::string(test_name(record.test)),
          fmt::format("{}", record.tokens),
          fmt::format("{}", record.depth),
          fmt::format("{}", record.streams),
          fmt::format("{}", record.threads),
          fmt::format("{:.1f}", record.tok_s),
          fmt::format("{:.1f}", record.stddev),
          fmt::format("{:.1f}", record.limit_tok_s),
          fmt::format("{:.1f} %", 100 * record.share_of_limit()),
          format_bytes(static_cast<std::uint64_t>(record.bytes_per_token))};
}

std::string summary(const Record& record) {
  const std::string threads =
      fmt::format("{} thread{}", record.threads, record.threads == 1 ? "" : "s");
  if (record.machine) {
    const MachineRates& rates = *record.machine;
    return fmt::format(
        "machine, {}: reads {:.1f} GB/s, int8 {:.2f} TOP/s ({}), bf16 {:.2f} "
        "TFLOP/s ({})",
        threads, rates.read_gb_s, rates.int8_tops, rates.int8_with, rates.bf16_tflops,
        rates.bf16_with);
  }
  if (!record.load) return {};
  const LoadTime& load = *record.load;
  std::string out =
      fmt::format("load, {}: ready in {:.0f} ms, first token {:.0f} ms after the start", threads,
                  load.ready_ms, load.first_token_ms);
  if (load.memory.resident > 0)
    out += fmt::format(
        "; memory {} (own {}, caches {} of it; mapped {}, with the programs; the "
        "weights are {})",
        format_bytes(load.memory.resident), format_bytes(load.memory.anonymous),
        format_bytes(load.cache_bytes), format_bytes(load.memory.mapped),
        format_bytes(load.weight_bytes));
  return out;
}

}  // namespace anemone::bench
