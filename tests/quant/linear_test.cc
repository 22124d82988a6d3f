// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "quant/packed_rows.h"
#include "tests/quant/vector_matrix.h"

namespace anemone::quant {
namespace {

TEST(Int8PerTensor, UsesOneScaleOfTheLargestMagnitude) {
  auto matrix = std::make_shared<VectorMatrix>(
      2, 3, std::vector<float>{0.5f, -1.27f, 0.01f, 0.0f, 0.635f, 0.005f});
  const StoredWeight weight =
      store_weight({.scheme = Scheme::kInt8, .threshold = 0}, matrix, DType::kFp32);
  EXPECT_EQ(weight.op, "constexpr_blockwise_shift_scale");
  const auto scale = parameter(weight, "scale");
  const auto data = parameter(weight, "data");
  ASSERT_TRUE(scale.ok() && data.ok());
  EXPECT_EQ(scale->shape(), (Shape{1, 1, 1, 1}));
  EXPECT_FLOAT_EQ(to_floats(scale->view())[0], 0.01f);
  EXPECT_EQ(data->shape(), (Shape{2, 3, 1, 1}));
  // 0.635 / 0.01 lies between 63 and 64 and rounds by the float quotient; 0.005 / 0.01 = 0.5 rounds
  // to even.
  EXPECT_EQ(to_ints(data->view())[0], 50);
  EXPECT_EQ(to_ints(data->view())[1], -127);
  EXPECT_EQ(to_ints(data->view())[2], 1);
  EXPECT_EQ(to_ints(data->view())[3], 0);
  EXPECT_GT(matrix->released, 0);
}

TEST(Int8PerChannel, ScalesEachRowByItself) {
  auto matrix =
      std::make_shared<VectorMatrix>(3, 2, std::vector<float>{127, -127, 1.27f, 0.01f, 0, 0});
  const StoredWeight weight =
      store_weight({.scheme = Scheme::kInt8Channel, .threshold = 0}, matrix, DType::kFp32);
  const auto scale = parameter(weight, "scale");
  const auto data = parameter(weight, "data");
  ASSERT_TRUE(scale.ok() && data.ok());
  EXPECT_EQ(scale->shape(), (Shape{3, 1, 1, 1}));
  const auto scales = to_floats(scale->view());
  EXPECT_FLOAT_EQ(scales[0], 1);
  EXPECT_FLOAT_EQ(scales[1], 0.01f);
  EXPECT_GT(scales[2], 0);  // an all-zero row still has a scale that can divide
  EXPECT_EQ(to_ints(data->view()), (std::vector<std::int64_t>{127, -127, 127, 1, 0, 0}));
}

TEST(Int8, ErrorIsAtMostHalfAStepOfTheStoredScale) {
  std::vector<float> values(64 * 64);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i) * 12.9898f) * 0.037f;
  auto matrix = std::make_shared<VectorMatrix>(64, 64, values);
  for (const Scheme scheme : {Scheme::kInt8, Scheme::kInt8Channel}) {
    const StoredWeight weight = store_weight({.scheme = scheme}, matrix, DType::kFp16);
    const auto scale = parameter(weight, "scale");
    const auto data = parameter(weight, "data");
    ASSERT_TRUE(scale.ok() && data.ok());
    EXPECT_EQ(scale->dtype(), DType::kFp16);
    const auto scales = to_floats(scale->view());
    const auto quants = to_ints(data->view());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float s = scales[scales.size() == 1 ? 0 : i / 64];
      // Half a step; the largest value may be clipped by the rounding of the scale (one part in
      // 2^11).
      const float bound = 0.5f * s + 127 * s / 2048;
      EXPECT_NEAR(static_cast<float>(quants[i]) * s, values[i], bound);
    }
  }
}

TEST(Blocks, EachRunOfInputsHasAScale) {
  auto matrix =
      std::make_shared<VectorMatrix>(2, 4, std::vector<float>{7, -3.5F, 0.7F, 0.1F, 0, 0, -14, 2});
  const StoredWeight weight = store_weight(
      {.scheme = Scheme::kInt4Block, .block_size = 2, .threshold = 0}, matrix, DType::kFp32);
  EXPECT_EQ(weight.op, "constexpr_blockwise_shift_scale");
  const auto scale = parameter(weight, "scale");
  const auto data = parameter(weight, "data");
  ASSERT_TRUE(scale.ok() && data.ok());
  EXPECT_EQ(scale->shape(), (Shape{2, 2, 1, 1}));
  EXPECT_EQ(data->shape(), (Shape{2, 4, 1, 1}));
  EXPECT_EQ(data->dtype(), DType::kInt4);
  const auto scales = to_floats(scale->view());
  EXPECT_FLOAT_EQ(scales[0], 1);
  EXPECT_FLOAT_EQ(scales[1], 0.1F);
  EXPECT_GT(scales[2], 0);
  EXPECT_FLOAT_EQ(scales[3], 2);
  // -3.5 rounds to even.
  EXPECT_EQ(to_ints(data->view()), (std::vector<std::int64_t>{7, -4, 7, 1, 0, 0, -7, 1}));
}

TEST(Blocks, ErrorIsAtMostHalfAStepAndBytesAreAsPlanned) {
  constexpr std::int64_t kRows = 19;
  constexpr std::int64_t kColumns = 60;  // 32 does not divide it, 30 does
  std::vector<float> values(kRows * kColumns);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i) * 12.9898F) * 0.037F;
  auto matrix = std::make_shared<VectorMatrix>(kRows, kColumns, values);
  for (const Scheme scheme : {Scheme::kInt8Block, Scheme::kInt4Block}) {
    const QuantOptions options{.scheme = scheme, .threshold = 0};
    const StoredWeight weight = store_weight(options, matrix, DType::kFp16);
    const auto scale = parameter(weight, "scale");
    const auto data = parameter(weight, "data");
    ASSERT_TRUE(scale.ok() && data.ok());
    EXPECT_EQ(scale->shape(), (Shape{kRows, 2, 1, 1}));
    EXPECT_EQ(weight.bytes, scale->view().size_bytes() + data->view().size_bytes());
    const auto scales = to_floats(scale->view());
    const auto quants = to_ints(data->view());
    const float largest = scheme == Scheme::kInt4Block ? 7 : 127;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float s = scales[i / 30];
      // The largest value may be clipped by the rounding of the scale (one part in 2^11).
      EXPECT_NEAR(static_cast<float>(quants[i]) * s, values[i], 0.5F * s + largest * s / 2048);
    }
  }
}

TEST(FittingDivisor, IsTheLargestThatIsNotAbove) {
  EXPECT_EQ(fitting_divisor(896, 32), 32);
  EXPECT_EQ(fitting_divisor(60, 32), 30);
  EXPECT_EQ(fitting_divisor(7, 32), 7);
  EXPECT_EQ(fitting_divisor(13, 12), 1);
  EXPECT_EQ(fitting_divisor(1, 1), 1);
}

TEST(Int8, SmallMatricesStayFloat) {
  auto matrix = std::make_shared<VectorMatrix>(2, 2, std::vector<float>{1, 2, 3, 4});
  const StoredWeight weight = store_weight({.scheme = Scheme::kInt8}, matrix, DType::kFp16);
  EXPECT_EQ(weight.op, "const");
  EXPECT_EQ(weight.bytes, 8u);
  EXPECT_EQ(to_floats(parameter(weight, "val")->view()), (std::vector<float>{1, 2, 3, 4}));
}

TEST(StoreWeight, RefusesValuesThatAreNoNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {nan, infinity, -infinity}) {
    auto matrix = std::make_shared<VectorMatrix>(1, 2, std::vector<float>{1, bad});
    for (const Scheme scheme : {Scheme::kNone, Scheme::kInt8, Scheme::kInt8Channel}) {
      const StoredWeight weight =
          store_weight({.scheme = scheme, .threshold = 0}, matrix, DType::kFp16);
      EXPECT_FALSE(weight.parameters.front().second.to_tensor().ok());
    }
  }
}

TEST(StoreWeight, SaysWhenFp16CannotHoldAWeight) {
  auto matrix = std::make_shared<VectorMatrix>(1, 2, std::vector<float>{1, 70000});
  const auto loaded = store_weight({.scheme = Scheme::kNone}, matrix, DType::kFp16)
                          .parameters.front()
                          .second.to_tensor();
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), Code::kUnsupported);
  EXPECT_NE(loaded.status().message().find("fp32"), std::string::npos);
  EXPECT_TRUE(store_weight({.scheme = Scheme::kNone}, matrix, DType::kFp32)
                  .parameters.front()
                  .second.to_tensor()
                  .ok());
}

TEST(ParseScheme, KnowsEveryNameItPrints) {
  for (const std::string_view name : scheme_names())
    EXPECT_EQ(scheme_name(*parse_scheme(name)), name);
  EXPECT_FALSE(parse_scheme("int3").has_value());
}

}  // namespace
}  // namespace anemone::quant
