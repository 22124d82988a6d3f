// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <gtest/gtest.h>

namespace anemone::cli {
namespace {

TEST(ErrorLine, IsTheMessageWithThePrefix) {
  EXPECT_EQ(error_line("[a.b] expected 1, got 2"), "anemone: [a.b] expected 1, got 2\n");
}

TEST(ErrorLine, EscapesControlCharacters) {
  EXPECT_EQ(error_line("a\nb\tc\x1b[31m\x7f"), "anemone: a\\nb\\tc\\x1b[31m\\x7f\n");
  EXPECT_EQ(error_line("a\xc2\x85"
                       "b\xe2\x80\xa8"
                       "c\xe2\x80\xae"),
            "anemone: a\\u{85}b\\u{2028}c\\u{202e}\n");
}

TEST(ErrorLine, EscapesWhatIsNoUtf8AndKeepsWhatIs) {
  EXPECT_EQ(error_line("caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x90\xa0"),
            "anemone: caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x90\xa0\n");
  EXPECT_EQ(error_line("\xff \xc3( \xe2\x82"), "anemone: \\xff \\xc3( \\xe2\\x82\n");
  EXPECT_EQ(error_line("\xc0\xaf \xed\xa0\x80"), "anemone: \\xc0\\xaf \\xed\\xa0\\x80\n");
}

TEST(ErrorLine, IsCutInTheMiddleBetweenCharacters) {
  std::string message = "[start] ";
  for (int i = 0; i < 1000; ++i) message += "\xe4\xb8\xad";
  const std::string line = error_line(message + " (end)");
  EXPECT_LE(line.size(), 401u);
  EXPECT_GE(line.size(), 390u);
  EXPECT_TRUE(line.starts_with("anemone: [start] \xe4\xb8\xad"));
  EXPECT_TRUE(line.ends_with("\xe4\xb8\xad (end)\n"));
  EXPECT_EQ(line.find("\\x"), std::string::npos);
}

TEST(ErrorLine, StaysWithinTheLimitForAnyLength) {
  for (std::size_t n = 380; n < 400; ++n)
    EXPECT_LE(error_line(std::string(n, 'x')).size(), 401u) << n;
  EXPECT_LE(error_line(std::string(5000, '\n')).size(), 401u);
}

}  // namespace
}  // namespace anemone::cli
