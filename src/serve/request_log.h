// SPDX-License-Identifier: Apache-2.0
// One line for each request that was answered, and for each load of a model. It holds no text of a
// prompt or an answer.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "serve/http/message.h"
#include "serve/model_events.h"

namespace anemone::serve {

enum class LogFormat { kNone, kText, kJson };
// "none", "text", "json". kInvalidArgument for another name.
Result<LogFormat> parse_log_format(std::string_view name);

struct LogEntry {
  // Status of a request whose client left before the answer was complete; nginx has the number.
  static constexpr int kClientLeft = 499;

  std::string method;
  std::string path;  // without the query, which may hold secrets
  std::string id;    // as in X-Request-Id
  int status = 0;
  double seconds = 0;  // from the whole request to the end of its answer
  AnswerNotes notes;
  std::string error_code;   // why the request was refused; empty: it was not
  std::string error_param;  // the field that is wrong, if it is one

  // Takes the status, and what went wrong, from the answer.
  void set_answer(const HttpResponse& answer) {
    status = answer.status;
    error_code = answer.error_code;
    error_param = answer.error_param;
  }
};

// The entry as a line, with its end: "2026-01-31T12:00:00.250Z POST /v1/chat/completions 200 1.234
// s, 20 + 34 tokens (12 cached), pocket, req_..." or an object of JSON; of a request that was
// refused "... 400 0.001 s, context_length_exceeded messages, req_...". `unix_ms` is the time in
// milliseconds since 1970. Control characters are escaped, so that it is one line.
std::string log_line_of(const LogEntry& entry, LogFormat format, std::int64_t unix_ms);

// The line of what happened to a model: "2026-01-31T12:00:00.250Z loaded pocket in 1.234 s, 12.3
// MB".
std::string log_line_of(const ModelEvent& event, LogFormat format, std::int64_t unix_ms);

// A line of JSON about the server itself: {"time", "event"} and the members of `more`, an object.
std::string log_line_of(std::string_view event, const Json& more, std::int64_t unix_ms);

// Writes entries to a descriptor. Thread-safe.
class RequestLog {
 public:
  // The descriptor outlives the log.
  RequestLog(LogFormat format, int descriptor) : format_(format), descriptor_(descriptor) {}

  bool is_on() const { return format_ != LogFormat::kNone; }
  // Never waits: a line is dropped where the descriptor has no room (a stopped terminal, a pipe
  // that nobody reads), since an answer must not depend on whoever reads the log.
  void write(const LogEntry& entry) const noexcept;
  void write(const ModelEvent& event) const noexcept;

 private:
  template <typename Entry>
  void write_line(const Entry& entry) const noexcept;

  const LogFormat format_;
  const int descriptor_;
};

}  // namespace anemone::serve
