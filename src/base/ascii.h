// SPDX-License-Identifier: Apache-2.0
// Functions on ASCII text that do not depend on the locale of the process.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace anemone {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The value of a hexadecimal digit, 0 to 15; -1 for any other character.
int hex_value(char c);

// The text with A to Z in lower case; other bytes stay as they are.
std::string ascii_lower(std::string_view text);

// Undoes percent-encoding (RFC 3986): "%41" becomes "A". nullopt if a "%" is not followed by two
// hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace anemone
