// SPDX-License-Identifier: Apache-2.0
// Amounts with a unit, as people write them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace anemone {

// A number with a unit, "1.5 GB", in small letters and without spaces: 1.5 and "gb".
struct Amount {
  std::optional<double> value;  // none: there is no number
  std::string unit;
};
Amount amount_of(std::string_view text);

// A time that a setting may have: at least 0 and at most 365 days. nullopt for another one.
std::optional<std::chrono::milliseconds> duration_of(double seconds);
// "90", "90s", "5m", "1.5 h"; seconds where there is no unit. nullopt for anything else, too.
std::optional<std::chrono::milliseconds> duration_of(std::string_view text);

}  // namespace anemone
