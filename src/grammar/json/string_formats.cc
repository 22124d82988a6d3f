// SPDX-License-Identifier: Apache-2.0
#include "grammar/json/string_formats.h"

#include <string>
#include <utility>
#include <vector>

namespace anemone::grammar {
namespace {

using Formats = std::vector<std::pair<std::string, std::string>>;

Formats make_formats() {
  // RFC 3339, with the days that a month has, and February 29 in leap years.
  const std::string leap_year =
      R"((\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00))";
  const std::string date =
      R"((\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|)"
      R"(02-(0[1-9]|1\d|2[0-8]))|)" +
      leap_year + "-02-29)";
  const std::string time =
      R"(([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+\-]([01]\d|2[0-3]):[0-5]\d))";
  const std::string day_time = R"(T(\d{1,9}H(\d{1,9}M(\d{1,9}S)?)?|\d{1,9}M(\d{1,9}S)?|\d{1,9}S))";
  const std::string duration =
      R"(P(\d{1,9}W|(\d{1,9}Y(\d{1,9}M(\d{1,9}D)?)?|\d{1,9}M(\d{1,9}D)?|\d{1,9}D)()" + day_time +
      ")?|" + day_time + ")";

  // RFC 1123. The third and fourth character are not both hyphens, as in encoded names.
  const std::string end = "[A-Za-z0-9]";
  const std::string inner = R"([A-Za-z0-9\-])";
  const std::string label = "(" + end + "(" + inner + "?" + end + ")?|" + end + inner + "(" + end +
                            inner + "|-" + end + ")" + inner + "{0,57}" + end + "|" + end + inner +
                            inner + end + ")";
  const std::string hostname = label + R"((\.)" + label + "){0,3}";
  const std::string atom = R"([A-Za-z0-9!#$%&'*+/=?^_`{|}~\-]+)";
  const std::string email = atom + R"((\.)" + atom + ")*@" + label + R"((\.)" + label + "){1,3}";

  const std::string byte = R"((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))";
  const std::string ipv4 = byte + R"((\.)" + byte + "){3}";
  // RFC 4291: eight groups, or fewer with one "::" in place of at least one.
  const std::string group = "[0-9A-Fa-f]{1,4}";
  const auto groups_behind = [&](int most) {
    return "((" + group + ":){0," + std::to_string(most - 1) + "}" + group + ")?";
  };
  std::string ipv6 = "((" + group + ":){7}" + group + "|(" + group + ":){6}" + ipv4 +
                     "|::" + groups_behind(7) + "|::(" + group + ":){0,5}" + ipv4;
  for (int before = 1; before <= 7; ++before) {
    const std::string start =
        "|" + group + "(:" + group + "){" + std::to_string(before - 1) + "}::";
    ipv6 += start;
    if (before < 7) ipv6 += groups_behind(7 - before);
    if (before < 6) ipv6 += start + "(" + group + ":){0," + std::to_string(5 - before) + "}" + ipv4;
  }
  ipv6 += ")";

  const std::string path = R"(([A-Za-z0-9._~!$&'()*+,;=:@\-]|%[0-9A-Fa-f]{2}))";
  const std::string path_or_slash = R"(([A-Za-z0-9._~!$&'()*+,;=:@/\-]|%[0-9A-Fa-f]{2}))";
  const std::string query = R"(([A-Za-z0-9._~!$&'()*+,;=:@/?\-]|%[0-9A-Fa-f]{2}))";
  const std::string uri = R"([A-Za-z][A-Za-z0-9+.\-]{0,30}:(//[A-Za-z0-9._~\-]+(:\d{1,5})?(/)" +
                          path + "*)*|" + path + path_or_slash + R"(*)(\?)" + query + "*)?(#" +
                          query + "*)?";
  return {{"date", date},
          {"time", time},
          {"date-time", date + "T" + time},
          {"duration", duration},
          {"uuid", "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"},
          {"email", email},
          {"hostname", hostname},
          {"ipv4", ipv4},
          {"ipv6", ipv6},
          {"uri", uri}};
}

const Formats& formats() {
  static const Formats all = make_formats();
  return all;
}

}  // namespace

std::optional<std::string_view> format_pattern(std::string_view name) {
  for (const auto& [known, pattern] : formats())
    if (known == name) return pattern;
  return std::nullopt;
}

std::string format_names() {
  std::string names;
  for (const auto& [name, pattern] : formats()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace anemone::grammar
