// SPDX-License-Identifier: Apache-2.0
#include "base/parse_number.h"

#include <cstdint>
#include <gtest/gtest.h>

namespace anemone {
namespace {

TEST(ParseNumber, TakesTheWholeText) {
  EXPECT_EQ(parse_number<std::int64_t>("-42"), -42);
  EXPECT_EQ(parse_number<double>("2.5e-1"), 0.25);
  EXPECT_EQ(parse_number<std::int64_t>(std::string_view("12345").substr(1, 2)), 23);
  for (const char* other : {"", " 1", "1 ", "+1", "1x", "0x1", "x", "-"}) {
    EXPECT_EQ(parse_number<std::int64_t>(other), std::nullopt) << other;
    EXPECT_EQ(parse_number<double>(other), std::nullopt) << other;
  }
}

TEST(ParseNumber, RefusesWhatTheTypeDoesNotHold) {
  EXPECT_EQ(parse_number<std::int32_t>("2147483648"), std::nullopt);
  EXPECT_EQ(parse_number<std::uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
}

}  // namespace
}  // namespace anemone
