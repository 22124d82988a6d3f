// SPDX-License-Identifier: Apache-2.0
// What MIL text counts as letters, whatever the locale says.
#pragma once

namespace anemone::ir {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace anemone::ir
