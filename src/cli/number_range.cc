// SPDX-License-Identifier: Apache-2.0
#include "cli/number_range.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/amount.h"
#include "base/ascii.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/parse_number.h"

namespace anemone::cli {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// parse_number() that also takes a plus sign before the number.
template <typename T>
std::optional<T> parse_with_plus(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number<T>(text);
}

template <typename T>
CLI::Validator range(T least, T most, const std::string& expected, const std::string& help) {
  const auto check = [=](const std::string& text) {
    const std::optional<T> value = parse_with_plus<T>(text);
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

CLI::Validator token_counts(std::int64_t least, std::int64_t most) {
  const bool is_open = most >= kManyTokens;
  const std::string span = is_open ? fmt::format("a whole number of at least {}", least)
                                   : fmt::format("{} to {}", least, most);
  return CLI::Validator(
      [=](std::string& text) {
        std::string_view digits = text;
        const bool is_k = digits.ends_with('k') || digits.ends_with('K');
        if (is_k) digits.remove_suffix(1);
        const auto value = parse_with_plus<std::int64_t>(digits);
        constexpr std::int64_t kUnit = 1024;
        const std::int64_t scale = is_k ? kUnit : 1;
        if (!value || *value < 0 || *value > most / scale || *value * scale < least)
          return fmt::format("expected {}, got {}", span, text);
        text = fmt::format("{}", *value * scale);
        return std::string();
      },
      is_open ? std::string() : span);
}

Result<std::uint64_t> parse_size(std::string_view text, std::string_view flag) {
  const auto [value, unit] = amount_of(text);
  constexpr std::string_view kPrefixes = "kmgt";
  double scale = 1;
  bool is_unit = unit.empty() || unit == "b";
  if (const std::size_t prefix = unit.empty() ? kPrefixes.npos : kPrefixes.find(unit.front());
      prefix != kPrefixes.npos) {
    const std::string_view rest = std::string_view(unit).substr(1);
    is_unit = rest.empty() || rest == "b" || rest == "ib";
    scale = std::pow(rest == "ib" ? 1024.0 : 1000.0, static_cast<double>(prefix + 1));
  }
  constexpr double kMostBytes = 1e18;
  if (!value || !is_unit || !(*value >= 0 && *value * scale <= kMostBytes))
    return invalid_argument("[{}] expected a size, as 500MB or 20GB, got {}", flag,
                            shortened(text, 40));
  return static_cast<std::uint64_t>(*value * scale);
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text, std::string_view flag) {
  if (const auto time = duration_of(text)) return *time;
  return invalid_argument("[{}] expected a time of at most 365 days, as 90s, 5m or 1h, got {}",
                          flag, shortened(text, 40));
}

CLI::Validator one_of(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](std::string& text) {
        const std::string lower = ascii_lower(text);
        if (std::ranges::find(words, lower) != words.end()) {
          text = lower;
          return std::string();
        }
        std::string list;
        for (std::size_t i = 0; i < words.size(); ++i)
          list += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
        return fmt::format("expected {}, got {}", list, text);
      },
      "");
}

CLI::Validator seeds() {
  return range(-kMost - 1, kMost, "a whole number that 64 bits with a sign hold", "");
}

}  // namespace anemone::cli
