// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/civil_time.h"

#include <array>
#include <chrono>
#include <ctime>

#include "base/error.h"
#include "base/parse_number.h"

namespace anemone::text::jinja {
namespace {

constexpr std::size_t kMaxFormat = 1000;

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

struct Calendar {
  int weekday;   // 0: Sunday
  int year_day;  // 1 to 366
};

Calendar calendar_of(const CivilTime& time) {
  using std::chrono::sys_days;
  const std::chrono::year_month_day date{std::chrono::year(time.year),
                                         std::chrono::month(static_cast<unsigned>(time.month)),
                                         std::chrono::day(static_cast<unsigned>(time.day))};
  const sys_days day(date);
  const sys_days new_year(std::chrono::year(time.year) / 1 / 1);
  return {static_cast<int>(std::chrono::weekday(day).c_encoding()),
          static_cast<int>((day - new_year).count()) + 1};
}

// One conversion; false when it is not known.
bool convert(char kind, bool plain, const CivilTime& time, std::string& out) {
  const Calendar calendar = calendar_of(time);
  const auto number = [&](int value, int width) {
    out += fmt::format("{:0{}}", value, plain ? 0 : width);
  };
  const auto weekday = kDays[static_cast<std::size_t>(calendar.weekday)];
  const auto month = kMonths[static_cast<std::size_t>(time.month - 1)];
  const auto nested = [&](std::string_view kinds) {
    for (const char c : kinds)
      if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) || !convert(c, false, time, out))
        out += c;
  };
  switch (kind) {
    case 'Y':
      out += fmt::format("{}", time.year);
      return true;
    case 'y':
      number(time.year % 100, 2);
      return true;
    case 'm':
      number(time.month, 2);
      return true;
    case 'd':
      number(time.day, 2);
      return true;
    case 'e':
      out += fmt::format("{:2}", time.day);
      return true;
    case 'H':
      number(time.hour, 2);
      return true;
    case 'I':
      number((time.hour + 11) % 12 + 1, 2);
      return true;
    case 'M':
      number(time.minute, 2);
      return true;
    case 'S':
      number(time.second, 2);
      return true;
    case 'j':
      number(calendar.year_day, 3);
      return true;
    case 'f':
      out += "000000";
      return true;
    case 'p':
      out += time.hour < 12 ? "AM" : "PM";
      return true;
    case 'A':
      out += weekday;
      return true;
    case 'a':
      out += weekday.substr(0, 3);
      return true;
    case 'B':
      out += month;
      return true;
    case 'b':
    case 'h':
      out += month.substr(0, 3);
      return true;
    case 'w':
      out += fmt::format("{}", calendar.weekday);
      return true;
    case 'u':
      out += fmt::format("{}", (calendar.weekday + 6) % 7 + 1);
      return true;
    case 'U':
      number((calendar.year_day + 6 - calendar.weekday) / 7, 2);
      return true;
    case 'W':
      number((calendar.year_day + 6 - (calendar.weekday + 6) % 7) / 7, 2);
      return true;
    case 'F':
      nested("Y-m-d");
      return true;
    case 'T':
    case 'X':
      nested("H:M:S");
      return true;
    case 'R':
      nested("H:M");
      return true;
    case 'D':
    case 'x':
      nested("m/d/y");
      return true;
    case 'c':
      nested("a b e H:M:S Y");
      return true;
    case 'z':
    case 'Z':
      return true;  // without a zone Python prints nothing
    case 'n':
      out += '\n';
      return true;
    case 't':
      out += '\t';
      return true;
    case '%':
      out += '%';
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<CivilTime> parse_civil_time(std::string_view text) {
  CivilTime time;
  const auto bad = [&] {
    return invalid_argument("[now] expected a time as 2025-01-15T12:34:56, got {}", text);
  };
  const auto field = [&](std::size_t at, std::size_t length, int low, int high, int& out) {
    if (at + length > text.size()) return false;
    const auto value = parse_number<int>(text.substr(at, length));
    out = value.value_or(low);
    return value && out >= low && out <= high;
  };
  if (text.size() < 10 || text[4] != '-' || text[7] != '-' || !field(0, 4, 1, 9999, time.year) ||
      !field(5, 2, 1, 12, time.month) || !field(8, 2, 1, 31, time.day))
    return bad();
  const std::chrono::year_month_day date{std::chrono::year(time.year),
                                         std::chrono::month(static_cast<unsigned>(time.month)),
                                         std::chrono::day(static_cast<unsigned>(time.day))};
  if (!date.ok()) return bad();
  if (text.size() == 10) return time;
  if ((text[10] != 'T' && text[10] != ' ') || text.size() < 16 || text[13] != ':' ||
      !field(11, 2, 0, 23, time.hour) || !field(14, 2, 0, 59, time.minute))
    return bad();
  if (text.size() == 16) return time;
  if (text[16] != ':' || text.size() < 19 || !field(17, 2, 0, 59, time.second)) return bad();
  // A fraction of a second is allowed and dropped.
  if (text.size() > 19 && text[19] != '.') return bad();
  return time;
}

CivilTime local_now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm fields{};
  ::localtime_r(&seconds, &fields);
  return {fields.tm_year + 1900, fields.tm_mon + 1, fields.tm_mday,
          fields.tm_hour,        fields.tm_min,     fields.tm_sec};
}

Result<std::string> format_civil_time(const CivilTime& time, const std::string& format) {
  if (format.size() > kMaxFormat)
    return invalid_argument("[strftime_now] expected a format of at most {} characters",
                            kMaxFormat);
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 >= format.size()) {
      out += format[i];
      continue;
    }
    const bool plain = format[i + 1] == '-' && i + 2 < format.size();
    const std::size_t at = i + (plain ? 2 : 1);
    if (convert(format[at], plain, time, out)) {
      i = at;
    } else {
      out += '%';
    }
  }
  return out;
}

}  // namespace anemone::text::jinja
