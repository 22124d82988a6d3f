// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <cstdlib>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <string>

#include "base/escape.h"

namespace anemone {
namespace {

LogLevel level_from_environment() {
  const char* text = std::getenv("ANEMONE_LOG");
  const std::string name = text == nullptr ? "" : text;
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "warn" || name == "warning") return LogLevel::kWarning;
  return LogLevel::kOff;
}

struct State {
  std::atomic<LogLevel> level{level_from_environment()};
  std::shared_ptr<spdlog::logger> logger = spdlog::stderr_color_mt("anemone");
  State() {
    logger->set_pattern("%H:%M:%S.%e %^%l%$ %v");
    logger->set_level(spdlog::level::debug);
  }
};

State& state() {
  static State instance;
  return instance;
}

}  // namespace

void set_log_level(LogLevel level) {
  state().level = level;
}

bool log_enabled(LogLevel level) {
  return level <= state().level.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view text) {
  const auto severity = level == LogLevel::kWarning ? spdlog::level::warn
                        : level == LogLevel::kInfo  ? spdlog::level::info
                                                    : spdlog::level::debug;
  state().logger->log(severity, escaped(text));
}

}  // namespace anemone
