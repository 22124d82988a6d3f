// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace anemone {

// The number that the whole text is, in decimal and without a locale; nullopt if the text is
// anything else, such as a number with a space or a plus sign before it, or if T does not hold the
// number.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

}  // namespace anemone
