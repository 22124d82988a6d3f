// SPDX-License-Identifier: Apache-2.0
// Lines that `serve` writes about the server itself.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "serve/request_log.h"

namespace anemone::cli {

// "anemone: " and the text; an object with the event and the members of `more` if the lines of
// requests are JSON.
std::string server_line(serve::LogFormat format, std::string_view event, const Json& more,
                        std::string_view text);

// Writes to stderr without stdio, and only if there is room: a stopped terminal, or a pipe that
// nobody reads, must not hold up the server.
void write_if_there_is_room(std::string_view line);

}  // namespace anemone::cli
