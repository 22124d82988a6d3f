// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <gtest/gtest.h>
#include <string>

#include "base/log.h"
#include "base/progress.h"

namespace anemone {
namespace {

TEST(FormatBytes, UsesPowersOfOneThousand) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(12'345), "12.3 kB");
  EXPECT_EQ(format_bytes(12'345'678), "12.3 MB");
  EXPECT_EQ(format_bytes(1'200'000'000), "1.20 GB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "18446744.1 TB");
}

TEST(FormatDuration, ShowsSecondsThenMinutes) {
  EXPECT_EQ(format_duration(0), "0.0 s");
  EXPECT_EQ(format_duration(0.44), "0.4 s");
  EXPECT_EQ(format_duration(59.94), "59.9 s");
  EXPECT_EQ(format_duration(80), "1 min 20 s");
  EXPECT_EQ(format_duration(3600), "60 min 0 s");
}

TEST(FormatDuration, RoundsUpToAWholeMinuteWithoutSayingSixtySeconds) {
  EXPECT_EQ(format_duration(59.97), "1 min 0 s");
  EXPECT_EQ(format_duration(119.6), "2 min 0 s");
}

TEST(Log, OnlyLevelsUpToTheChosenOneAreEnabled) {
  set_log_level(LogLevel::kOff);
  EXPECT_FALSE(log_enabled(LogLevel::kWarning));
  set_log_level(LogLevel::kInfo);
  EXPECT_TRUE(log_enabled(LogLevel::kWarning));
  EXPECT_TRUE(log_enabled(LogLevel::kInfo));
  EXPECT_FALSE(log_enabled(LogLevel::kDebug));
  set_log_level(LogLevel::kOff);
}

TEST(Log, ADisabledLineIsNotEvenFormatted) {
  set_log_level(LogLevel::kOff);
  int formatted = 0;
  ANEMONE_DEBUG("{}", ++formatted);
  EXPECT_EQ(formatted, 0);
}

}  // namespace
}  // namespace anemone
