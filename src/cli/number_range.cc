// SPDX-License-Identifier: Apache-2.0
#include "cli/number_range.h"

#include <charconv>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace anemone::cli {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// The whole text as a number; nullopt when it is none, or one that T does not hold.
template <typename T>
std::optional<T> parse(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename T>
CLI::Validator range(T least, T most, const std::string& expected, const std::string& help) {
  const auto check = [=](const std::string& text) {
    const std::optional<T> value = parse<T>(text);
    if (value && *value >= least && *value <= most) return std::string();
    return fmt::format("expected {}, got {}", expected, text);
  };
  return CLI::Validator(check, help);
}

}  // namespace

CLI::Validator whole_numbers(std::int64_t least, std::int64_t most) {
  const std::string span = fmt::format("{} to {}", least, most);
  return range(least, most, span, span);
}

CLI::Validator at_least(std::int64_t least) {
  return range(least, kMost, fmt::format("a whole number of at least {}", least), "");
}

CLI::Validator numbers(double least, double most) {
  const std::string span = fmt::format("{} to {}", least, most);
  return range(least, most, span, span);
}

CLI::Validator seeds() {
  return range(-kMost - 1, kMost, "a whole number that 64 bits with a sign hold", "");
}

}  // namespace anemone::cli
