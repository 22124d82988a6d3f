// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <gtest/gtest.h>

#include "quant/packed_rows.h"
#include "tests/quant/vector_matrix.h"

namespace anemone::quant {
namespace {

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

}  // namespace
}  // namespace anemone::quant
