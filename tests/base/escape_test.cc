// SPDX-License-Identifier: Apache-2.0
#include "base/escape.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace anemone {
namespace {

TEST(Escape, LeavesNothingThatMovesTheCursor) {
  EXPECT_EQ(escaped("a\nb\tc\r\x1b[31m"), "a\\nb\\tc\\x0d\\x1b[31m");
  EXPECT_EQ(escaped("caf\xc3\xa9 \xff"), "caf\xc3\xa9 \\xff");
  EXPECT_EQ(escaped("\xe2\x80\xae"), "\\u{202e}");
}

TEST(Escape, ShortensBetweenCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "abc...");
  EXPECT_EQ(shortened("ab\xc3\xa9", 3), "ab...");
}

TEST(Log, KeepsEachLineOne) {
  ::testing::internal::CaptureStderr();
  log_line(LogLevel::kInfo, "GET /x\n12:00 forged \x1b[2J");
  const std::string out = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(out.find("GET /x\\n12:00 forged \\x1b[2J\n"), std::string::npos) << out;
}

}  // namespace
}  // namespace anemone
