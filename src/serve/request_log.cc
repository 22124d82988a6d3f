// SPDX-License-Identifier: Apache-2.0
#include "serve/request_log.h"

#include <chrono>
#include <ctime>
#include <exception>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "base/error.h"
#include "base/escape.h"
#include "base/json.h"

namespace anemone::serve {
namespace {

// "2026-01-31T12:00:00.250Z".
std::string time_text(std::int64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm utc = {};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     unix_ms % 1000);
}

std::string text_line(const LogEntry& entry, std::int64_t unix_ms) {
  const AnswerNotes& notes = entry.notes;
  std::string line = fmt::format("{} {} {} {} {:.3f} s", time_text(unix_ms), escaped(entry.method),
                                 escaped(entry.path), entry.status, entry.seconds);
  if (!notes.model.empty())
    line += fmt::format(", {} + {} tokens ({} cached), {}", notes.prompt_tokens,
                        notes.completion_tokens, notes.cached_tokens, escaped(notes.model));
  return line + fmt::format(", {}\n", entry.id);
}

std::string json_line(const LogEntry& entry, std::int64_t unix_ms) {
  Json out = {{"time", time_text(unix_ms)}, {"method", entry.method},   {"path", entry.path},
              {"status", entry.status},     {"seconds", entry.seconds}, {"id", entry.id}};
  if (const AnswerNotes& notes = entry.notes; !notes.model.empty()) {
    out["model"] = notes.model;
    out["prompt_tokens"] = notes.prompt_tokens;
    out["cached_tokens"] = notes.cached_tokens;
    out["completion_tokens"] = notes.completion_tokens;
  }
  return escaped_json(dump_json(out)) + "\n";
}

}  // namespace

Result<LogFormat> parse_log_format(std::string_view name) {
  if (name == "none") return LogFormat::kNone;
  if (name == "text") return LogFormat::kText;
  if (name == "json") return LogFormat::kJson;
  return invalid_argument("[--log-format] expected text, json or none, got \"{}\"",
                          shortened(name, 60));
}

std::string log_line_of(const LogEntry& entry, LogFormat format, std::int64_t unix_ms) {
  return format == LogFormat::kJson ? json_line(entry, unix_ms) : text_line(entry, unix_ms);
}

void RequestLog::write(const LogEntry& entry) const noexcept {
  if (!is_on()) return;
  try {
    using std::chrono::system_clock;
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
        system_clock::now().time_since_epoch());
    const std::string line = log_line_of(entry, format_, now.count());
    // A line is shorter than PIPE_BUF, so a pipe with room takes it whole and at once.
    pollfd wait = {descriptor_, POLLOUT, 0};
    if (::poll(&wait, 1, 0) > 0 && (wait.revents & POLLOUT) != 0) [[maybe_unused]]
      const auto written = ::write(descriptor_, line.data(), line.size());
  } catch (const std::exception&) {
    // There is no memory for the line, and the request goes on without it.
  }
}

}  // namespace anemone::serve
