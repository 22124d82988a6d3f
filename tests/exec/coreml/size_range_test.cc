// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/size_range.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <utility>

namespace anemone::exec::coreml {
namespace {

using Sizes = std::pair<std::int64_t, std::int64_t>;

Sizes sizes(std::uint64_t location, std::uint64_t length) {
  const SizeRange range = size_range(location, length);
  return {range.lower, range.upper};
}

TEST(SizeRange, OfOneSizeOrNoneIsFixed) {
  EXPECT_EQ(sizes(4, 0), Sizes(4, 4));
  EXPECT_EQ(sizes(4, 1), Sizes(4, 4));
}

TEST(SizeRange, CountsItsEndIn) {
  EXPECT_EQ(sizes(1, 63), Sizes(1, 64));
}

TEST(SizeRange, ThatIsHugeHasNoUpperEnd) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  EXPECT_EQ(sizes(1, ~std::uint64_t{0}), Sizes(1, SizeRange::kUnbounded));
  EXPECT_EQ(sizes(1, kMost + 1), Sizes(1, SizeRange::kUnbounded));
  EXPECT_EQ(sizes(0, kMost).second, std::int64_t{1} << 40);
}

}  // namespace
}  // namespace anemone::exec::coreml
