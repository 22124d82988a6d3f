// SPDX-License-Identifier: Apache-2.0
// Makes text from files, names and requests safe to print on a terminal or in a log. Control
// characters can move the cursor, break lines or turn the direction of writing, and a terminal may
// take invalid UTF-8 for anything. Both are shown as \xNN or \u{N}.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace anemone {

// The text on one line: line ends and tabs are escaped too.
std::string escaped(std::string_view text);

// The text on several lines: line ends and tabs stay.
std::string escaped_lines(std::string_view text);

// Valid JSON text with the same meaning: control characters, which only its strings can hold,
// become \uNNNN.
std::string escaped_json(std::string_view json);

// Length of the first character in bytes; 0 when escaped() would replace it.
std::size_t printable_length(std::string_view text);

// escaped(), in pieces that must not be cut: a character, or an escape.
std::vector<std::string> escaped_pieces(std::string_view text);

// The first `max_bytes` bytes at most, cut between characters, with "..." for what is left out.
std::string shortened(std::string_view text, std::size_t max_bytes);

}  // namespace anemone
