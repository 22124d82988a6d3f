// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "base/escape.h"
#include "base/json.h"
#include "base/terminal.h"

namespace anemone::cli {

// Writes to stdout and flushes. kIo when it cannot; when the reader has closed the pipe, every
// later call and the command itself end quietly (stdout_is_closed).
Status print_out(std::string_view text);
bool stdout_is_closed();

// print_out() for a report that people read: whatever a file, a name or a message brought into the
// text, only the report's own line ends and tabs move the cursor of a terminal. The caller escapes
// a name that must not break its line.
Status print_report(std::string_view text);

// Prints to stderr, whatever signals come meanwhile. A stderr that takes nothing is no reason to
// stop. `format` is fmt's.
template <typename... Args>
void print_err(fmt::format_string<Args...> format, Args&&... args) {
  write_text(STDERR_FILENO, fmt::format(format, std::forward<Args>(args)...));
}

// Prints JSON and a line end. Control sequences of a terminal are escaped, which gives the same
// JSON.
Status print_json(const Json& value, int indent = -1);

// Prints error_line() to stderr, with the name of the program in color where there is color.
void print_error(std::string_view message);

// The one line of a failed command, "anemone: <message>\n": at most 400 bytes before its end,
// control characters and broken UTF-8 escaped, cut between characters where it is too long.
std::string error_line(std::string_view message);

}  // namespace anemone::cli
