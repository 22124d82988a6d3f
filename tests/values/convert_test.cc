// SPDX-License-Identifier: Apache-2.0
#include "values/convert.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "values/fill.h"
#include "values/numbers.h"

namespace anemone::values {
namespace {

template <typename T>
Tensor tensor(std::vector<T> values) {
  return Tensor::from<T>({static_cast<std::int64_t>(values.size())}, std::span<const T>(values));
}

template <typename T>
std::string refusal(std::vector<T> values, DType dtype) {
  const auto out = convert(tensor(std::move(values)).view(), dtype, "x");
  EXPECT_FALSE(out.ok());
  return out.ok() ? "" : out.status().message();
}

TEST(Convert, TakesIntegersThatTheTypeHolds) {
  const auto out = convert(tensor<std::int64_t>({-128, 0, 127, 2048}).view(), DType::kFp16, "x");
  ASSERT_TRUE(out.ok()) << out.status().message();
  EXPECT_EQ(to_floats(out->view()), (std::vector<float>{-128, 0, 127, 2048}));
  EXPECT_EQ(refusal<std::int64_t>({1, 2049}, DType::kFp16),
            "[x] expected values that fp16 holds, got 2049 (element 1)");
  EXPECT_EQ(refusal<std::int64_t>({70000}, DType::kFp16),
            "[x] expected values that fp16 holds, got 70000 (element 0)");
  EXPECT_EQ(refusal<std::int64_t>({128}, DType::kInt8),
            "[x] expected values that int8 holds, got 128 (element 0)");
  EXPECT_EQ(refusal<std::int64_t>({-1}, DType::kUInt8),
            "[x] expected values that uint8 holds, got -1 (element 0)");
  EXPECT_EQ(refusal<std::int64_t>({2}, DType::kBool),
            "[x] expected values that bool holds, got 2 (element 0)");
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(convert(tensor<std::int64_t>({largest}).view(), DType::kFp64, "x").ok());
  EXPECT_FALSE(convert(tensor<std::uint64_t>({~std::uint64_t{0}}).view(), DType::kFp64, "x").ok());
}

TEST(Convert, RoundsFloatsOnce) {
  // Just above the middle of 1 and the next half: by way of fp32 it would be the middle, and
  // then 1.
  const double above = 1 + 0x1p-11 + 0x1p-40;
  const auto out = convert(tensor<double>({above, 0.1, -0.0}).view(), DType::kFp16, "x");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(to_floats(out->view())[0], 1 + 0x1p-10F);
  EXPECT_EQ(to_floats(out->view())[1], 0.0999755859375F);
  EXPECT_EQ(refusal<double>({65520}, DType::kFp16),
            "[x] expected values that fp16 holds, got 65520 (element 0)");
  EXPECT_EQ(refusal<double>({1e300}, DType::kFp32),
            "[x] expected values that fp32 holds, got 1e+300 (element 0)");
  const double infinity = std::numeric_limits<double>::infinity();
  const auto infinite = convert(tensor<double>({-infinity}).view(), DType::kFp16, "x");
  ASSERT_TRUE(infinite.ok());
  EXPECT_EQ(to_floats(infinite->view())[0], -std::numeric_limits<float>::infinity());
}

TEST(Convert, TakesWholeFloatsAsIntegersAndNoOthers) {
  const auto out = convert(tensor<float>({-3, 4}).view(), DType::kInt32, "x");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(to_ints(out->view()), (std::vector<std::int64_t>{-3, 4}));
  for (const float value : {1.5F, 3e9F, std::numeric_limits<float>::infinity(), std::nanf("")})
    EXPECT_FALSE(convert(tensor<float>({value}).view(), DType::kInt32, "x").ok()) << value;
}

TEST(Convert, RefusesTypesWithoutWholeBytes) {
  EXPECT_EQ(convert(tensor<float>({1}).view(), DType::kInt4, "x").status().code(),
            Code::kUnsupported);
}

TEST(Numbers, AreWholeOrFloats) {
  const auto whole = parse_numbers("1, -2,+3", "x");
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->dtype(), DType::kInt64);
  EXPECT_EQ(to_ints(whole->view()), (std::vector<std::int64_t>{1, -2, 3}));
  const auto floats = parse_numbers("1,2.5e-1", "x");
  ASSERT_TRUE(floats.ok());
  EXPECT_EQ(floats->dtype(), DType::kFp64);
  EXPECT_EQ(to_floats(floats->view()), (std::vector<float>{1, 0.25F}));
  for (const char* text : {"", ",", "1,", "one", "1 2", "+-1", "0x10"})
    EXPECT_FALSE(parse_numbers(text, "x").ok()) << text;
}

TEST(Fill, GivesTheSameRandomNumbersForOneSeed) {
  for (const DType dtype : {DType::kFp16, DType::kFp32, DType::kInt32, DType::kBool}) {
    const auto first = random(dtype, {4, 50}, 7, false, "x");
    const auto again = random(dtype, {4, 50}, 7, false, "x");
    const auto other = random(dtype, {4, 50}, 8, false, "x");
    ASSERT_TRUE(first.ok() && again.ok() && other.ok());
    const std::vector<float> values = to_floats(first->view());
    EXPECT_EQ(values, to_floats(again->view()));
    EXPECT_NE(values, to_floats(other->view()));
    EXPECT_GE(*std::ranges::min_element(values), 0);
    const float most = *std::ranges::max_element(values);
    EXPECT_TRUE(is_float(dtype) ? most < 1 : most == 1) << most;
  }
  const auto pixels = random(DType::kFp16, {400}, 0, true, "x");
  ASSERT_TRUE(pixels.ok());
  EXPECT_TRUE(convert(pixels->view(), DType::kUInt8, "x").ok());
}

TEST(Fill, RefusesMoreElementsThanMemoryIsMeantFor) {
  EXPECT_FALSE(filled(DType::kFp16, {1 << 20, 1 << 20}, 1, "x").ok());
  const auto ones = filled(DType::kFp16, {2, 2}, 1, "x");
  ASSERT_TRUE(ones.ok());
  EXPECT_EQ(to_floats(ones->view()), (std::vector<float>{1, 1, 1, 1}));
}

}  // namespace
}  // namespace anemone::values
