// SPDX-License-Identifier: Apache-2.0
// Log lines for people who debug; off unless --verbose or ANEMONE_LOG asks. Each is one line,
// whatever is in it (escape.h). Results go to stdout and the one error line of a failed command to
// stderr without passing through here. Thread-safe.
#pragma once

#include <fmt/core.h>
#include <string_view>

namespace anemone {

enum class LogLevel { kOff, kWarning, kInfo, kDebug };

void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view text);

}  // namespace anemone

#define ANEMONE_LOG(level, ...)                                                              \
  do {                                                                                       \
    if (::anemone::log_enabled(level)) ::anemone::log_line(level, fmt::format(__VA_ARGS__)); \
  } while (false)
#define ANEMONE_WARN(...) ANEMONE_LOG(::anemone::LogLevel::kWarning, __VA_ARGS__)
#define ANEMONE_INFO(...) ANEMONE_LOG(::anemone::LogLevel::kInfo, __VA_ARGS__)
#define ANEMONE_DEBUG(...) ANEMONE_LOG(::anemone::LogLevel::kDebug, __VA_ARGS__)
