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
#include "base/progress.h"

namespace anemone::serve {
namespace {

// A field may have a long name, and a line must not be long.
constexpr std::size_t kMaxParam = 200;

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
  if (!entry.error_code.empty()) line += ", " + escaped(entry.error_code);
  if (!entry.error_param.empty()) line += " " + escaped(shortened(entry.error_param, kMaxParam));
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
  if (!entry.error_code.empty()) out["code"] = entry.error_code;
  if (!entry.error_param.empty()) out["param"] = shortened(entry.error_param, kMaxParam);
  return escaped_json(dump_json(out)) + "\n";
}

// A reason may be long, and a line must not be.
constexpr std::size_t kMaxReason = 1000;

std::string text_line(const ModelEvent& event, std::int64_t unix_ms) {
  using Kind = ModelEvent::Kind;
  const std::string start = time_text(unix_ms);
  const std::string model = escaped(event.model);
  const std::string bytes = format_bytes(event.bytes);
  switch (event.kind) {
    case Kind::kLoading:
      return fmt::format("{} loading {}\n", start, model);
    case Kind::kLoaded:
      return fmt::format("{} loaded {} in {:.3f} s, {}\n", start, model, event.seconds, bytes);
    case Kind::kFailed:
      return fmt::format("{} cannot load {}: {}\n", start, model,
                         escaped(shortened(event.error, kMaxReason)));
    case Kind::kUnloaded:
      break;
  }
  switch (event.reason) {
    case UnloadReason::kAsked:
      return fmt::format("{} unloaded {} on request, {}\n", start, model, bytes);
    case UnloadReason::kIdle:
      return fmt::format("{} unloaded {} after {:.0f} s without a request, {}\n", start, model,
                         event.seconds, bytes);
    case UnloadReason::kRoom:
      break;
  }
  return fmt::format("{} unloaded {} to make room, {}\n", start, model, bytes);
}

std::string json_line(const ModelEvent& event, std::int64_t unix_ms) {
  using Kind = ModelEvent::Kind;
  Json out = {{"time", time_text(unix_ms)}, {"model", event.model}};
  switch (event.kind) {
    case Kind::kLoading:
      out["event"] = "model_loading";
      break;
    case Kind::kLoaded:
      out["event"] = "model_loaded";
      break;
    case Kind::kFailed:
      out["event"] = "model_load_failed";
      out["error"] = shortened(event.error, kMaxReason);
      break;
    case Kind::kUnloaded:
      out["event"] = "model_unloaded";
      out["reason"] = event.reason == UnloadReason::kIdle   ? "idle"
                      : event.reason == UnloadReason::kRoom ? "room"
                                                            : "request";
      out["idle_seconds"] = event.seconds;
      break;
  }
  if (event.kind == Kind::kLoaded || event.kind == Kind::kFailed) out["seconds"] = event.seconds;
  if (event.kind == Kind::kLoaded || event.kind == Kind::kUnloaded) out["bytes"] = event.bytes;
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

std::string log_line_of(const ModelEvent& event, LogFormat format, std::int64_t unix_ms) {
  return format == LogFormat::kJson ? json_line(event, unix_ms) : text_line(event, unix_ms);
}

std::string log_line_of(std::string_view event, const Json& more, std::int64_t unix_ms) {
  Json out = {{"time", time_text(unix_ms)}, {"event", event}};
  out.update(more);
  return escaped_json(dump_json(out)) + "\n";
}

void RequestLog::write(const LogEntry& entry) const noexcept {
  write_line(entry);
}

void RequestLog::write(const ModelEvent& event) const noexcept {
  write_line(event);
}

template <typename Entry>
void RequestLog::write_line(const Entry& entry) const noexcept {
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
