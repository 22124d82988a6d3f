// SPDX-License-Identifier: Apache-2.0
#include "base/escape.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace anemone {
namespace {

// ESC, DEL, a C1 control (CSI), a line separator, a right-to-left override, a byte order mark.
const std::string kHostile = "a\x1b[31m\x7f\xc2\x9b\xe2\x80\xa8\xe2\x80\xae\xef\xbb\xbf";

TEST(Escape, OfALineLeavesNothingThatMovesTheCursor) {
  EXPECT_EQ(escaped(kHostile + "\r\n\t"),
            "a\\x1b[31m\\x7f\\u{9b}\\u{2028}\\u{202e}\\u{feff}\\x0d\\n\\t");
  EXPECT_EQ(escaped("caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x90\xa0"),
            "caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x90\xa0");
  EXPECT_EQ(escaped("\xff \xe2\x82"), "\\xff \\xe2\\x82");
}

TEST(Escape, OfLinesKeepsTheirEndsAndTabs) {
  EXPECT_EQ(escaped_lines("a\tb\r\n" + kHostile),
            "a\tb\\x0d\na\\x1b[31m\\x7f\\u{9b}\\u{2028}\\u{202e}\\u{feff}");
}

TEST(Escape, OfJsonMeansTheSame) {
  const Json value = {{kHostile, kHostile + "\n\t"}, {"plain", "caf\xc3\xa9"}};
  for (const int indent : {-1, 2}) {
    const std::string text = escaped_json(dump_json(value, indent));
    EXPECT_EQ(*parse_json(text, "x"), value);
    for (const char* part : {"\x1b", "\x7f", "\xc2\x9b", "\xe2\x80\xae"})
      EXPECT_EQ(text.find(part), std::string::npos);
  }
}

TEST(Escape, PrintableLengthIsThatOfACharacterOrNone) {
  EXPECT_EQ(printable_length("ab"), 1u);
  EXPECT_EQ(printable_length("\xe4\xb8\xad"), 3u);
  EXPECT_EQ(printable_length("\xe2\x80\xae"), 0u);
  EXPECT_EQ(printable_length("\xff"), 0u);
  EXPECT_EQ(printable_length(""), 0u);
}

}  // namespace
}  // namespace anemone
