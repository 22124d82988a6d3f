// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>

namespace anemone::cli {

// Writes to stdout and flushes. kIo when it cannot; when the reader has closed the pipe, every
// later call and the command itself end quietly (stdout_is_closed).
Status print_out(std::string_view text);
bool stdout_is_closed();

// The one line of a failed command, "anemone: <message>\n": at most 400 characters, control
// characters and broken UTF-8 escaped, cut between characters where it is too long.
std::string error_line(std::string_view message);

}  // namespace anemone::cli
