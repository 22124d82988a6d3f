// SPDX-License-Identifier: Apache-2.0
// How long a model takes from the start of a process to its first token, and what memory it holds
// then. A new process measures it: this executable, started again.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "bench/memory_use.h"
#include "exec/executor.h"

namespace anemone::bench {

struct LoadTime {
  double ready_ms = 0;             // from the start of the process to a session that takes tokens
  double first_token_ms = 0;       // to the first token after a prompt of one token
  MemoryUse memory;                // after that
  std::uint64_t weight_bytes = 0;  // of the files that hold weights and embeddings
  std::uint64_t cache_bytes = 0;   // of the session, for the whole context
};

// Runs in the new process: loads the artifact and runs a token. `start_ns` is when the process was
// started, on the steady clock, which all processes share.
Result<LoadTime> measure_own_load(const std::string& artifact_dir, exec::Executor& executor,
                                  std::int64_t start_ns);

// What the new process writes to stdout, and what is read there.
Json load_time_to_json(const LoadTime& load);
Result<LoadTime> load_time_from_json(const std::string& text);

// Starts `executable arguments... START_NS` `repetitions` times after one that does not count, so
// that the files are in memory, and gives the one with the median first token. Errors of the new
// process are said by its exit code alone: load the model in this one first. kIo when no process
// can be started.
Result<LoadTime> measure_load(const std::string& executable,
                              const std::vector<std::string>& arguments, int repetitions);

}  // namespace anemone::bench
