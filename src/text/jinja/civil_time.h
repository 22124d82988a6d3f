// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>

namespace anemone::text::jinja {

// A local date and time without a zone: what strftime_now prints.
struct CivilTime {
  int year = 1970;
  int month = 1;  // 1 to 12
  int day = 1;    // 1 to 31
  int hour = 0;
  int minute = 0;
  int second = 0;
};

// "2025-01-15T12:34:56", "2025-01-15 12:34" or "2025-01-15"; kInvalidArgument otherwise.
Result<CivilTime> parse_civil_time(std::string_view text);
CivilTime local_now();
// strftime with the C locale's names: "%d %b %Y". kInvalidArgument above 1000 characters.
Result<std::string> format_civil_time(const CivilTime& time, const std::string& format);

}  // namespace anemone::text::jinja
