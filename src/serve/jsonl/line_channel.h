// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

#include "serve/served_model.h"

namespace anemone::serve::jsonl {

// Lines from one descriptor, lines to another, blocking or not. Does not own them. Single-thread.
class LineChannel {
 public:
  // Reading ends when `stop` (a descriptor, or -1) becomes readable.
  LineChannel(int in, int out, int stop, std::size_t max_line_bytes)
      : in_(in), out_(out), stop_(stop), max_line_bytes_(max_line_bytes) {}

  enum class Outcome { kLine, kTooLong, kEnd };
  // The next line without its end; the last one need not have one. A line that is too long is
  // skipped. kIo when reading fails.
  Result<Outcome> read_line(std::string& line);
  // Adds the end of the line. kIo when nobody reads any more; kCancelled when `stop` is readable
  // and a descriptor that does not block takes nothing.
  Status write_line(std::string_view line);

  // Whether `stop` is readable, and whether the other side has closed both directions.
  bool is_stopped() const;
  bool is_peer_gone() const;

 private:
  int in_;
  int out_;
  int stop_;
  std::size_t max_line_bytes_;
  std::string buffer_;
  std::size_t searched_ = 0;  // of the buffer, without a line end
};

struct LineOptions {
  RequestDefaults defaults;
  std::size_t max_line_bytes = 16 * 1000 * 1000;
};

// Lets so many requests run at a time. Thread-safe.
class Gate {
 public:
  explicit Gate(int places) : places_(places) {}
  // Waits for a place; false when the client has gone or the channel was stopped meanwhile.
  bool enter(const LineChannel& channel);
  void leave();

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  int places_;
};

// Answers every line of a channel until it ends or is stopped.
Status answer_channel(LineChannel& channel, const ModelSet& models, const LineOptions& options,
                      Gate& gate);

}  // namespace anemone::serve::jsonl
