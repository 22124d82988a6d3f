// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "quant/kmeans.h"
#include "tests/quant/vector_matrix.h"

namespace anemone::quant {
namespace {

std::vector<float> normal(std::size_t count, float deviation, unsigned seed = 1) {
  std::mt19937 bits(seed);
  // Sums of twelve uniform numbers: the same on every platform, unlike std::normal_distribution.
  std::vector<float> out(count);
  for (float& value : out) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(bits()) * 0x1p-32;
    value = static_cast<float>(sum) * deviation;
  }
  return out;
}

std::vector<float> restored(const StoredWeight& weight, std::int64_t rows, std::int64_t columns) {
  const auto lut = parameter(weight, "lut");
  const auto indices = parameter(weight, "indices");
  if (!lut.ok() || !indices.ok()) return {};
  const auto values = to_floats(lut->view());
  const auto quants = to_ints(indices->view());
  const std::int64_t palettes = lut->shape()[0];
  const std::int64_t size = lut->shape()[4];
  std::vector<float> out;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const std::int64_t palette = i / columns / (rows / palettes);
    out.push_back(
        values[static_cast<std::size_t>(palette * size + quants[static_cast<std::size_t>(i)])]);
  }
  return out;
}

double noise(const std::vector<float>& want, const std::vector<float>& got) {
  double error = 0;
  double power = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double w = static_cast<double>(want[i]);
    error += std::pow(w - static_cast<double>(got[i]), 2);
    power += w * w;
  }
  return std::sqrt(error / power);
}

TEST(Palette, OfFewValuesIsExact) {
  std::vector<float> values;
  for (int i = 0; i < 64; ++i) values.push_back(static_cast<float>(i % 15) * 0.25F - 2);
  auto matrix = std::make_shared<VectorMatrix>(4, 16, values);
  const StoredWeight weight =
      store_weight({.scheme = Scheme::kLut4, .threshold = 0}, matrix, DType::kFp16);
  EXPECT_EQ(weight.op, "constexpr_lut_to_dense");
  EXPECT_EQ(parameter(weight, "indices")->dtype(), DType::kUInt4);
  EXPECT_EQ(parameter(weight, "lut")->shape(), (Shape{1, 1, 1, 1, 16, 1}));
  EXPECT_EQ(restored(weight, 4, 16), values);
}

TEST(Palette, GroupsOfRowsHaveTheirOwnAndBytesAreAsPlanned) {
  std::vector<float> values = normal(12 * 50, 0.02F);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i / 50 >= 6) values[i] *= 100;
  auto matrix = std::make_shared<VectorMatrix>(12, 50, values);
  for (const Scheme scheme : {Scheme::kLut4, Scheme::kLut6, Scheme::kLut8}) {
    const StoredWeight weight =
        store_weight({.scheme = scheme, .group_size = 8, .threshold = 0}, matrix, DType::kFp32);
    const auto lut = parameter(weight, "lut");
    const auto indices = parameter(weight, "indices");
    ASSERT_TRUE(lut.ok() && indices.ok());
    EXPECT_EQ(lut->shape()[0], 2);  // 6 is the largest divisor of 12 that is not above 8
    EXPECT_EQ(weight.bytes, lut->view().size_bytes() + indices->view().size_bytes());
    const auto got = restored(weight, 12, 50);
    const std::vector<float> small(values.begin(), values.begin() + 300);
    EXPECT_LT(noise(small, {got.begin(), got.begin() + 300}), 0.12);
  }
}

// The distortion of the best 2^n levels for normal values (Max, Quantizing for minimum distortion,
// 1960): 0.009501 at 16 levels, so 9.7 % noise; Lloyd's algorithm on a sample comes close to it.
TEST(Palette, KmeansIsCloseToTheBestLevelsAndUniformIsNot) {
  const std::vector<float> values = normal(64 * 512, 0.05F);
  auto matrix = std::make_shared<VectorMatrix>(64, 512, values);
  const auto noise_of = [&](Scheme scheme, PaletteMode mode) {
    return noise(
        values,
        restored(
            store_weight({.scheme = scheme, .palette_mode = mode, .group_size = 0, .threshold = 0},
                         matrix, DType::kFp32),
            64, 512));
  };
  EXPECT_NEAR(noise_of(Scheme::kLut4, PaletteMode::kKmeans), std::sqrt(0.009501), 0.003);
  EXPECT_GT(noise_of(Scheme::kLut4, PaletteMode::kUniform), 0.11);
  EXPECT_LT(noise_of(Scheme::kLut6, PaletteMode::kKmeans), 0.03);
  EXPECT_LT(noise_of(Scheme::kLut8, PaletteMode::kKmeans), 0.009);
}

TEST(Palette, UniformLevelsReachFromTheSmallestToTheLargest) {
  auto matrix = std::make_shared<VectorMatrix>(1, 4, std::vector<float>{-3, 0, 1, 12});
  const StoredWeight weight =
      store_weight({.scheme = Scheme::kLut4, .palette_mode = PaletteMode::kUniform, .threshold = 0},
                   matrix, DType::kFp32);
  const auto lut = parameter(weight, "lut");
  ASSERT_TRUE(lut.ok());
  const auto levels = to_floats(lut->view());
  for (std::size_t i = 0; i < 16; ++i) EXPECT_FLOAT_EQ(levels[i], static_cast<float>(i) - 3);
  EXPECT_EQ(restored(weight, 1, 4), (std::vector<float>{-3, 0, 1, 12}));
}

TEST(Palette, OfZerosAndOfTinyValuesIsFinite) {
  for (const float value : {0.0F, 1e-38F, std::numeric_limits<float>::denorm_min()}) {
    auto matrix = std::make_shared<VectorMatrix>(2, 32, std::vector<float>(64, value));
    for (const PaletteMode mode : {PaletteMode::kKmeans, PaletteMode::kUniform}) {
      const StoredWeight weight = store_weight(
          {.scheme = Scheme::kLut6, .palette_mode = mode, .threshold = 0}, matrix, DType::kFp32);
      for (const float got : restored(weight, 2, 32)) EXPECT_NEAR(got, value, 1e-30F);
    }
  }
}

// The least relative error of normal values with 64 levels is 2.6 % (Max 1960), less where few
// values share a palette. Few of them is the hard case: what places the first centres must not see
// holes between the points as regions without any.
TEST(Kmeans, ReachesTheErrorOfTheBestLevels) {
  for (const std::size_t count : {512U, 2048U, 28672U}) {
    const std::vector<float> values = normal(count, 1);
    const auto [low, high] = std::ranges::minmax(values);
    const float largest = std::max(-low, high);
    Histogram histogram(largest);
    histogram.add(values);
    const auto centres = kmeans(histogram.bins(), 64);
    double error = 0;
    double square = 0;
    for (const float value : values) {
      float nearest = std::numeric_limits<float>::max();
      for (const float centre : centres) nearest = std::min(nearest, std::abs(value - centre));
      error += double{nearest} * nearest;
      square += double{value} * value;
    }
    EXPECT_LE(std::sqrt(error / square), 0.026) << count;
  }
}

TEST(Kmeans, KeepsTheWeightsOfPoints) {
  // Two clusters; the middle of each is that of its counts.
  std::vector<Histogram::Bin> bins;
  for (int i = 0; i < 20; ++i) bins.push_back({static_cast<float>(i), i == 3 ? 1000.0 : 1.0});
  for (int i = 100; i < 120; ++i) bins.push_back({static_cast<float>(i), 2.0});
  const auto centres = kmeans(bins, 2);
  ASSERT_EQ(centres.size(), 2U);
  EXPECT_NEAR(centres[0], (1000 * 3 + 190 - 3) / 1019.0, 1e-4);
  EXPECT_NEAR(centres[1], 109.5, 1e-4);
}

// The bits of the source choose the palette, and floats take the scheme.
TEST(Palette, KeepsTheBitsOfTheSource) {
  const std::vector<float> values(64 * 64, 0.5F);
  const QuantOptions options = {.scheme = Scheme::kNone, .keeps_bits = true};
  const auto scheme_of = [&](int bits) {
    return store_weight(options, std::make_shared<VectorMatrix>(64, 64, values, bits), DType::kFp16)
        .scheme;
  };
  EXPECT_EQ(scheme_of(0), Scheme::kNone);
  for (const int bits : {1, 2, 4}) EXPECT_EQ(scheme_of(bits), Scheme::kLut4) << bits;
  for (const int bits : {5, 6}) EXPECT_EQ(scheme_of(bits), Scheme::kLut6) << bits;
  for (const int bits : {7, 8}) EXPECT_EQ(scheme_of(bits), Scheme::kLut8) << bits;
  const StoredWeight weight =
      store_weight(options, std::make_shared<VectorMatrix>(64, 64, values, 4), DType::kFp16);
  EXPECT_FALSE(weight.is_passthrough);
  EXPECT_NE(weight.error, nullptr) << "its error is measured";
}

}  // namespace
}  // namespace anemone::quant
