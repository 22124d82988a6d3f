// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "tests/quant/vector_matrix.h"

namespace anemone::quant {
namespace {

// Two rows of two groups of four integers.
class Integers : public VectorMatrix {
 public:
  Integers(std::vector<float> scales, std::vector<float> minimums)
      : VectorMatrix(2, 8, std::vector<float>(16), 4),
        scales_(std::move(scales)),
        minimums_(std::move(minimums)) {}
  std::optional<QuantizedForm> quantized_form() const override {
    return QuantizedForm{
        .group = 4, .bits = 4, .has_half_scales = true, .has_minimums = !minimums_.empty()};
  }
  static std::int8_t quant(std::int64_t row, std::size_t i) {
    return static_cast<std::int8_t>((static_cast<int>(i) * 5 + static_cast<int>(row) * 3) % 16 - 8);
  }
  void read_quants(std::int64_t row, std::span<std::int8_t> quants,
                   std::span<float> scales) const override {
    for (std::size_t i = 0; i < quants.size(); ++i) quants[i] = quant(row, i);
    std::copy_n(scales_.begin() + row * 2, 2, scales.begin());
  }
  void read_minimums(std::int64_t row, std::span<float> minimums) const override {
    std::copy_n(minimums_.begin() + row * 2, 2, minimums.begin());
  }
  float value(std::size_t i) const {
    const float minimum = minimums_.empty() ? 0 : minimums_[i / 4];
    return scales_[i / 4] * static_cast<float>(quant(static_cast<std::int64_t>(i / 8), i % 8)) +
           minimum;
  }

 private:
  std::vector<float> scales_;
  std::vector<float> minimums_;
};

// scale * (data - offset) of a stored weight.
std::vector<float> values_of(const StoredWeight& weight) {
  const auto scale = parameter(weight, "scale");
  const auto data = parameter(weight, "data");
  const auto offset = parameter(weight, "offset");
  EXPECT_TRUE(scale.ok() && data.ok());
  const std::vector<float> scales = to_floats(scale->view());
  const std::vector<float> offsets =
      offset.ok() ? to_floats(offset->view()) : std::vector<float>(scales.size());
  std::vector<float> out;
  for (const std::int64_t q : to_ints(data->view())) {
    const std::size_t group = out.size() / 4;
    out.push_back(scales[group] * (static_cast<float>(q) - offsets[group]));
  }
  return out;
}

TEST(Passthrough, TakesIntegersAndScalesOver) {
  const auto matrix =
      std::make_shared<Integers>(std::vector<float>{0.5F, 1, 2, 0.25F}, std::vector<float>());
  const StoredWeight weight =
      store_weight({.scheme = Scheme::kPassthrough, .threshold = 0}, matrix, DType::kFp16);
  EXPECT_TRUE(weight.is_passthrough);
  EXPECT_TRUE(weight.is_exact);
  EXPECT_FALSE(parameter(weight, "offset").ok());
  const std::vector<float> values = values_of(weight);
  ASSERT_EQ(values.size(), 16U);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], matrix->value(i)) << i;
}

TEST(Passthrough, MinimumsBecomeOffsets) {
  const auto matrix = std::make_shared<Integers>(std::vector<float>{0.5F, 0.01F, -2, 0.25F},
                                                 std::vector<float>{-3.3F, 0.07F, 5, 0});
  const StoredWeight weight =
      store_weight({.scheme = Scheme::kPassthrough, .threshold = 0}, matrix, DType::kFp16);
  EXPECT_EQ(weight.scheme, Scheme::kInt4Block);
  EXPECT_TRUE(weight.is_passthrough);
  EXPECT_FALSE(weight.is_exact) << "offsets are rounded to fp16";
  // Nibbles, and scales and offsets of four groups.
  EXPECT_EQ(weight.bytes, 8U + 8U + 8U);
  const std::vector<float> values = values_of(weight);
  ASSERT_EQ(values.size(), 16U);
  // Offsets up to 10 have fp16's relative error of 2^-11, as have the scales.
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], matrix->value(i), 2 * 0x1p-11 * 18 * 2) << i;
  const StoredWeight exact =
      store_weight({.scheme = Scheme::kPassthrough, .threshold = 0}, matrix, DType::kFp32);
  EXPECT_TRUE(exact.is_exact);
  const std::vector<float> floats = values_of(exact);
  for (std::size_t i = 0; i < floats.size(); ++i)
    EXPECT_NEAR(floats[i], matrix->value(i), 4 * 0x1p-24 * 36) << i;
}

TEST(Passthrough, GroupsWithoutAScaleAreTheirMinimum) {
  const auto matrix = std::make_shared<Integers>(std::vector<float>{0, 0, 1, 1},
                                                 std::vector<float>{-3.5F, 0, 0, 0});
  const std::vector<float> values = values_of(
      store_weight({.scheme = Scheme::kPassthrough, .threshold = 0}, matrix, DType::kFp16));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(values[i], matrix->value(i)) << i;
}

TEST(Passthrough, GroupsFarFromZeroBecomeEqual) {
  // An offset of 100,000 is none of fp16.
  const auto matrix = std::make_shared<Integers>(std::vector<float>{0.001F, 1, 1, 1},
                                                 std::vector<float>{100, 0, 0, 0});
  const std::vector<float> values = values_of(
      store_weight({.scheme = Scheme::kPassthrough, .threshold = 0}, matrix, DType::kFp16));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(values[i], matrix->value(i), 100 * 0.01) << i;
  EXPECT_EQ(values[0], values[3]);
}

TEST(Passthrough, NumbersThatFp16CannotHoldAreAnError) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  for (const auto& [scale, minimum] :
       {std::pair{1e6F, 0.0F}, {nan, 1.0F}, {1.0F, kInf}, {0.0F, nan}}) {
    const auto matrix = std::make_shared<Integers>(std::vector<float>{1, 1, scale, 1},
                                                   std::vector<float>{0, 0, minimum, 0});
    const auto got = parameter(
        store_weight({.scheme = Scheme::kPassthrough, .threshold = 0}, matrix, DType::kFp16),
        "scale");
    EXPECT_EQ(got.status().code(), Code::kCorrupt) << scale << " " << minimum;
  }
}

}  // namespace
}  // namespace anemone::quant
