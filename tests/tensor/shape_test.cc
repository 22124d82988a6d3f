// SPDX-License-Identifier: Apache-2.0
#include "tensor/shape.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace anemone {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Shape, CountsElements) {
  EXPECT_EQ(*checked_element_count({}), 1);
  EXPECT_EQ(*checked_element_count({5}), 5);
  EXPECT_EQ(*checked_element_count({2, 3, 4}), 24);
  EXPECT_EQ(*checked_element_count({2, 0, 4}), 0);
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 0}), 0);
}

TEST(Shape, CountsUpToTwoToTheFortyEight) {
  EXPECT_EQ(*checked_element_count({std::int64_t{1} << 48}), std::int64_t{1} << 48);
  EXPECT_EQ(*checked_element_count({1 << 24, 1 << 24}), std::int64_t{1} << 48);
}

TEST(Shape, RefusesDimensionsThatADamagedFileMightClaim) {
  for (const Shape& shape :
       {Shape{-1}, Shape{2, -3}, Shape{0, -1}, Shape{-1, 0}, Shape{0, kMax, kMax},
        Shape{1 << 30, 1 << 30, 0}, Shape{std::numeric_limits<std::int64_t>::min()}, Shape{kMax},
        Shape{kMax, kMax}, Shape{(std::int64_t{1} << 48) + 1}, Shape{1 << 24, 1 << 24, 2},
        Shape{std::int64_t{1} << 32, std::int64_t{1} << 32}}) {
    const auto result = checked_element_count(shape);
    ASSERT_FALSE(result.ok()) << to_string(shape);
    EXPECT_EQ(result.status().code(), Code::kCorrupt);
  }
}

TEST(Shape, TellsStaticFromDynamic) {
  EXPECT_TRUE(is_static({}));
  EXPECT_TRUE(is_static({1, 0, 3}));
  EXPECT_FALSE(is_static({1, kDynamic}));
}

TEST(Shape, StridesAreRowMajor) {
  EXPECT_EQ(strides_of({}), (std::vector<std::int64_t>{}));
  EXPECT_EQ(strides_of({7}), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(strides_of({2, 3, 4}), (std::vector<std::int64_t>{12, 4, 1}));
}

TEST(Shape, PrintsDynamicDimensionsAsAQuestionMark) {
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{1, 64, kDynamic, 1}), "[1, 64, ?, 1]");
}

TEST(BroadcastShapes, FollowsNumpy) {
  EXPECT_EQ(*broadcast_shapes({}, {}), (Shape{}));
  EXPECT_EQ(*broadcast_shapes({}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(*broadcast_shapes({3}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(*broadcast_shapes({4, 1}, {3}), (Shape{4, 3}));
  EXPECT_EQ(*broadcast_shapes({8, 1, 6, 1}, {7, 1, 5}), (Shape{8, 7, 6, 5}));
  EXPECT_EQ(*broadcast_shapes({1}, {1, 1, 1}), (Shape{1, 1, 1}));
}

TEST(BroadcastShapes, ZeroMeetsOneAsZero) {
  EXPECT_EQ(*broadcast_shapes({0}, {1}), (Shape{0}));
  EXPECT_EQ(*broadcast_shapes({2, 1}, {0}), (Shape{2, 0}));
  EXPECT_FALSE(broadcast_shapes({0}, {2}).ok());
}

TEST(BroadcastShapes, DynamicStaysDynamicAgainstOneAndYieldsToASize) {
  EXPECT_EQ(*broadcast_shapes({kDynamic}, {1}), (Shape{kDynamic}));
  EXPECT_EQ(*broadcast_shapes({1}, {kDynamic}), (Shape{kDynamic}));
  EXPECT_EQ(*broadcast_shapes({kDynamic}, {5}), (Shape{5}));
  EXPECT_EQ(*broadcast_shapes({5}, {kDynamic}), (Shape{5}));
  EXPECT_EQ(*broadcast_shapes({kDynamic}, {kDynamic}), (Shape{kDynamic}));
}

TEST(BroadcastShapes, IsSymmetric) {
  const Shape shapes[] = {{},     {1},    {3},    {0},           {kDynamic},
                          {2, 3}, {2, 1}, {1, 3}, {kDynamic, 3}, {4, 2, 3}};
  for (const Shape& a : shapes) {
    for (const Shape& b : shapes) {
      const auto left = broadcast_shapes(a, b);
      const auto right = broadcast_shapes(b, a);
      ASSERT_EQ(left.ok(), right.ok()) << to_string(a) << to_string(b);
      if (!left.ok()) continue;
      EXPECT_EQ(*left, *right);
    }
  }
}

TEST(BroadcastShapes, NamesBothShapesWhenTheyDoNotFit) {
  const auto result = broadcast_shapes({2, 3}, {4});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(result.status().message(), "shapes [2, 3] and [4] do not broadcast");
}

TEST(NormalizeAxis, CountsFromBothEnds) {
  EXPECT_EQ(*normalize_axis(0, 3), 0);
  EXPECT_EQ(*normalize_axis(2, 3), 2);
  EXPECT_EQ(*normalize_axis(-1, 3), 2);
  EXPECT_EQ(*normalize_axis(-3, 3), 0);
}

TEST(NormalizeAxis, RefusesWhatLiesOutside) {
  for (const std::int64_t axis : {std::int64_t{3}, std::int64_t{-4}, kMax, -kMax - 1})
    EXPECT_EQ(normalize_axis(axis, 3).status().code(), Code::kInvalidArgument) << axis;
  EXPECT_FALSE(normalize_axis(0, 0).ok());
  EXPECT_FALSE(normalize_axis(-1, 0).ok());
}

TEST(MarkAxes, FlagsEachNamedDimensionOnce) {
  using Flags = std::vector<bool>;
  const std::vector<std::int64_t> none;
  const std::vector<std::int64_t> ends = {-1, 0};
  EXPECT_EQ(*mark_axes(none, 2), (Flags{false, false}));
  EXPECT_EQ(*mark_axes(ends, 3), (Flags{true, false, true}));
}

TEST(MarkAxes, RefusesAxesOutsideAndTwice) {
  for (const std::vector<std::int64_t>& axes :
       {std::vector<std::int64_t>{3}, std::vector<std::int64_t>{0, 0},
        std::vector<std::int64_t>{0, -3}})
    EXPECT_EQ(mark_axes(axes, 3).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace anemone
