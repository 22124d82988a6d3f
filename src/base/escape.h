// SPDX-License-Identifier: Apache-2.0
// Text of files, names and requests on its way to a terminal or a log. Control characters move the
// cursor, break lines or turn the direction of writing; what is no UTF-8 may be anything. Both are
// shown as \xNN or \u{N}.
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

// JSON text with the same meaning: the characters stand in its strings only and become \uNNNN.
std::string escaped_json(std::string_view json);

// Length in bytes of the first character, 0 when it would be escaped.
std::size_t printable_length(std::string_view text);

// escaped(), in pieces that must not be cut: a character, or an escape.
std::vector<std::string> escaped_pieces(std::string_view text);

// The first `most_bytes` bytes at most, cut between characters, with "..." for what is left out.
std::string shortened(std::string_view text, std::size_t most_bytes);

}  // namespace anemone
