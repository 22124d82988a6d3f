// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_lines.h"

#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

namespace anemone::cli {

std::string server_line(serve::LogFormat format, std::string_view event, const Json& more,
                        std::string_view text) {
  if (format != serve::LogFormat::kJson) return fmt::format("anemone: {}\n", text);
  using std::chrono::system_clock;
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch());
  return serve::log_line_of(event, more, now.count());
}

void write_if_there_is_room(std::string_view line) {
  pollfd wait = {STDERR_FILENO, POLLOUT, 0};
  if (::poll(&wait, 1, 0) > 0 && (wait.revents & POLLOUT) != 0) [[maybe_unused]]
    const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace anemone::cli
