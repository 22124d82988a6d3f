// SPDX-License-Identifier: Apache-2.0
#include "base/amount.h"

#include <algorithm>
#include <cstdint>

#include "base/ascii.h"
#include "base/parse_number.h"

namespace anemone {

Amount amount_of(std::string_view text) {
  const std::size_t end = std::min(text.size(), text.find_first_not_of("0123456789."));
  Amount out{parse_number<double>(text.substr(0, end)), ascii_lower(text.substr(end))};
  std::erase(out.unit, ' ');
  return out;
}

std::optional<std::chrono::milliseconds> duration_of(double seconds) {
  constexpr double kMostSeconds = 365.0 * 24 * 3600;
  if (!(seconds >= 0 && seconds <= kMostSeconds)) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

std::optional<std::chrono::milliseconds> duration_of(std::string_view text) {
  const auto [value, unit] = amount_of(text);
  const double scale = unit.empty() || unit == "s"    ? 1
                       : unit == "m" || unit == "min" ? 60
                       : unit == "h"                  ? 3600
                                                      : 0;
  if (!value || scale == 0) return std::nullopt;
  return duration_of(*value * scale);
}

}  // namespace anemone
