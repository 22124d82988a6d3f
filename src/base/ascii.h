// SPDX-License-Identifier: Apache-2.0
// Letters and digits of ASCII, whatever the locale is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace anemone {

// 0 to 15; -1 for what is no hex digit.
int hex_value(char c);

// The capital letters A to Z as small ones; other bytes stay.
std::string ascii_lower(std::string_view text);

// %41 as A (RFC 3986). nullopt where a % is not followed by two hex digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace anemone
