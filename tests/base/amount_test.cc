// SPDX-License-Identifier: Apache-2.0
#include "base/amount.h"

#include <gtest/gtest.h>

namespace anemone {
namespace {

using namespace std::chrono_literals;

TEST(Amount, IsANumberWithAUnit) {
  EXPECT_EQ(amount_of("1.5 GiB").value, 1.5);
  EXPECT_EQ(amount_of("1.5 GiB").unit, "gib");
  EXPECT_EQ(amount_of("20").value, 20);
  EXPECT_EQ(amount_of("20").unit, "");
  EXPECT_EQ(amount_of("m").value, std::nullopt);
}

TEST(Duration, IsATimeOfAtMostAYear) {
  EXPECT_EQ(duration_of("90"), 90s);
  EXPECT_EQ(duration_of("0"), 0s);
  EXPECT_EQ(duration_of("0.25 s"), 250ms);
  EXPECT_EQ(duration_of("5m"), 5min);
  EXPECT_EQ(duration_of("5 min"), 5min);
  EXPECT_EQ(duration_of("1.5H"), 90min);
  EXPECT_EQ(duration_of(0.5), 500ms);
  EXPECT_EQ(duration_of("8760h"), 8760h);
  for (const char* other : {"", "m", "-1", "5x", "8761h", "1.2.3", "soon"})
    EXPECT_EQ(duration_of(other), std::nullopt) << other;
  EXPECT_EQ(duration_of(-0.1), std::nullopt);
  EXPECT_EQ(duration_of(1e300), std::nullopt);
}

}  // namespace
}  // namespace anemone
