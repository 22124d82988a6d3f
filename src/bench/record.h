// SPDX-License-Identifier: Apache-2.0
// One result of `anemone bench`, as a line of a table and as an object of --json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "bench/load_time.h"
#include "bench/machine_rates.h"

namespace anemone::bench {

struct Record {
  enum class Test { kMachine, kLoad, kPrefill, kDecode };

  Test test = Test::kDecode;
  std::int64_t tokens = 0;   // of the prompt, or steps of decoding
  std::int64_t depth = 0;    // tokens that were there before
  std::int64_t streams = 1;  // sessions that decode together
  std::int64_t threads = 1;

  // kPrefill, kDecode: of all streams together.
  double tok_s = 0;   // the median of the repetitions
  double stddev = 0;  // of them
  double limit_tok_s = 0;
  double bytes_per_token = 0;  // that a step reads, shared by its streams; of a prompt: its weights

  std::optional<MachineRates> machine;  // kMachine
  std::optional<LoadTime> load;         // kLoad

  double share_of_limit() const { return limit_tok_s > 0 ? tok_s / limit_tok_s : 0; }
};

// {"test", "tokens", "depth", "streams", "threads", ...}: see docs/guide/bench.md.
Json to_json(const Record& record);

// The heading of the table of speeds, and the cells of a row. Only for kPrefill and kDecode.
std::vector<std::string> table_heading();
std::vector<std::string> table_row(const Record& record);
// A line on the machine or the load, without its end.
std::string summary(const Record& record);

}  // namespace anemone::bench
