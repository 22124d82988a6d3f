// SPDX-License-Identifier: Apache-2.0
#include "base/ascii.h"

#include <gtest/gtest.h>

#include "base/json_reference.h"

namespace anemone {
namespace {

TEST(Ascii, LowersLettersOfAsciiAlone) {
  EXPECT_EQ(ascii_lower("Q4_K_M É[Z]"), "q4_k_m É[z]");
}

TEST(PercentDecode, TakesPairsOfHexDigits) {
  EXPECT_EQ(percent_decode("a%2Fb%c3%A9"), "a/bé");
  for (const char* bad : {"%", "%1", "%zz", "a%2", "%-1"})
    EXPECT_EQ(percent_decode(bad), std::nullopt) << bad;
}

TEST(JsonReference, IsAPercentEncodedPointer) {
  using Steps = std::vector<std::string>;
  EXPECT_EQ(reference_steps("#"), Steps{});
  EXPECT_EQ(reference_steps("#/$defs/a~1b~0c/%25%C3%A9"), (Steps{"$defs", "a/b~c", "%é"}));
  EXPECT_EQ(reference_steps("#/a%2Fb/"), (Steps{"a", "b", ""})) << "the pointer is decoded first";
  EXPECT_EQ(reference_steps("#/a%2"), std::nullopt);
  EXPECT_FALSE(is_inner_reference("#a"));
}

}  // namespace
}  // namespace anemone
