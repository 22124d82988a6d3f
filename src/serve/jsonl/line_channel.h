// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/work_budget.h"
#include "engine/generation/text_request.h"
#include "engine/loop/engine.h"
#include "serve/model_pool.h"

namespace anemone::serve::jsonl {

// How long a client may take; nullopt: for ever.
struct LineTimeouts {
  std::optional<std::chrono::milliseconds> idle;  // to begin the next line
  std::optional<std::chrono::milliseconds> line;  // to complete it, and to take a part of an answer
};

// Lines from one descriptor, lines to another, blocking or not. Does not own them. Single-thread,
// but for waiting_since().
class LineChannel {
 public:
  // Reading ends when `stop` (a descriptor, or -1) becomes readable.
  LineChannel(int in, int out, int stop, std::size_t max_line_bytes,
              const LineTimeouts& timeouts = {})
      : in_(in), out_(out), stop_(stop), max_line_bytes_(max_line_bytes), timeouts_(timeouts) {}

  enum class Outcome { kLine, kTooLong, kTimeout, kEnd };
  // The next line without its end; the last one need not have one. A line that is too long is
  // skipped. kIo when reading fails.
  Result<Outcome> read_line(std::string& line);
  // Adds the end of the line. `is_last`: the request is answered with it, so the channel waits for
  // the next one. kIo when nobody reads any more; kCancelled when `stop` is readable
  // and a descriptor that does not block takes nothing, or nothing for too long.
  Status write_line(std::string_view line, bool is_last = true);

  // Whether `stop` is readable, and whether the other side has closed both directions.
  bool is_stopped() const;
  bool is_peer_gone() const;

  using Clock = std::chrono::steady_clock;
  // The time since when no complete line has come; nullopt while one is being answered.
  // Thread-safe.
  std::optional<Clock::time_point> waiting_since() const;

 private:
  Result<Outcome> next_line(std::string& line);
  // The name of the input, for errors.
  std::string_view subject() const { return in_ == 0 ? "stdin" : "connection"; }
  // Milliseconds for poll(): until the timeout, -1 for none.
  int time_left() const;

  int in_;
  int out_;
  int stop_;
  std::size_t max_line_bytes_;
  const LineTimeouts timeouts_;
  std::atomic<Clock::rep> waiting_since_ = Clock::now().time_since_epoch().count();  // 0: none
  std::string buffer_;
  std::size_t begin_ = 0;     // of the next line in it
  std::size_t searched_ = 0;  // how far there is no line end
};

struct LineOptions {
  engine::RequestDefaults defaults;
  WorkBudget::Limits budget;  // of one request, for all that is done before its prompt is read
  std::size_t max_line_bytes = 16 * 1000 * 1000;
};

// Answers every line of a channel until it ends, is stopped or takes too long. Another thread runs
// the engine's turns. Setting `cancel` ends the request in progress.
Status answer_channel(LineChannel& channel, ModelPool& models, engine::Engine& engine,
                      const LineOptions& options, std::atomic<bool>& cancel);

}  // namespace anemone::serve::jsonl
