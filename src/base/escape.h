// SPDX-License-Identifier: Apache-2.0
// Text of somebody else on its way to a terminal, a log or a table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace anemone {

// The text with all that moves the cursor, breaks the line or turns the direction of writing, and
// with broken UTF-8, as \n, \t, \xNN or \u{N}.
std::string escaped(std::string_view text);

// The same in pieces that must not be cut: a character, or an escape.
std::vector<std::string> escaped_pieces(std::string_view text);

// At most so many bytes of it, cut between characters, with "..." for what is left out.
std::string shortened(std::string_view text, std::size_t most_bytes);

}  // namespace anemone
