// SPDX-License-Identifier: Apache-2.0
// Layer norm and softmax of rows on every instruction set of this machine, against double.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "kernels/simd/kernels.h"
#include "tests/kernels/random_values.h"

namespace anemone::kernels::simd {
namespace {

class SimdRows : public ::testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels_ = kernels_of(GetParam());
  std::vector<Half> softmax(const std::vector<Half>& x, std::int64_t rows) {
    const std::int64_t channels = static_cast<std::int64_t>(x.size()) / rows;
    std::vector<Half> y(x.size() + 1, Half{0x1234});
    std::vector<float> scratch(static_cast<std::size_t>(softmax_scratch(channels)));
    kernels_.softmax_rows(x.data(), channels, rows, y.data(), scratch.data());
    EXPECT_EQ(y.back().bits, 0x1234);
    return y;
  }
};

double double_of(Half h) {
  return static_cast<double>(to_float(h));
}

TEST_P(SimdRows, Normed) {
  testing::RandomValues random(5);
  for (const std::int64_t channels : {1, 7, 16, 64, 83})
    for (const float shift : {0.0f, 500.0f}) {
      constexpr std::int64_t kRows = 3;
      auto x = random.halves(kRows * channels, 3.0f);
      for (Half& v : x) v = to_half(to_float(v) + shift);
      const auto gamma = random.floats(channels, 2.0f);
      const auto beta = random.floats(channels);
      std::vector<Half> y(x.size() + 1, Half{0x1234});
      kernels_.layer_norm_rows(x.data(), gamma.data(), beta.data(), 1e-5f, channels, kRows,
                               y.data());
      EXPECT_EQ(y.back().bits, 0x1234);
      for (std::int64_t r = 0; r < kRows; ++r) {
        const Half* row = x.data() + r * channels;
        const auto n = static_cast<double>(channels);
        double mean = 0;
        for (std::int64_t c = 0; c < channels; ++c) mean += double_of(row[c]) / n;
        double variance = 0;
        for (std::int64_t c = 0; c < channels; ++c)
          variance += std::pow(double_of(row[c]) - mean, 2) / n;
        const double factor = 1 / std::sqrt(variance + 1e-5);
        for (std::int64_t c = 0; c < channels; ++c) {
          const double product = (double_of(row[c]) - mean) * factor *
                                 static_cast<double>(gamma[static_cast<std::size_t>(c)]);
          const double expected = product + static_cast<double>(beta[static_cast<std::size_t>(c)]);
          // The mean is known to 2^-22 of itself; the sum with beta may be small.
          const double slack = static_cast<double>(shift) * 0x1p-22 * factor * 2 +
                               std::abs(product) * 0x1p-20 + 0x1p-24;
          ASSERT_NEAR(double_of(y[static_cast<std::size_t>(r * channels + c)]), expected,
                      std::abs(expected) * 0x1.1p-11 + slack)
              << channels << " channels, row " << r;
        }
      }
    }
}

TEST_P(SimdRows, Weighed) {
  testing::RandomValues random(6);
  for (const std::int64_t channels : {1, 5, 16, 33, 1000})
    for (const float range : {0.5f, 20.0f, 60000.0f}) {
      const auto x = random.halves(2 * channels, range);
      const auto y = softmax(x, 2);
      for (std::int64_t r = 0; r < 2; ++r) {
        const Half* row = x.data() + r * channels;
        double top = double_of(row[0]);
        for (std::int64_t c = 0; c < channels; ++c) top = std::max(top, double_of(row[c]));
        double total = 0;
        for (std::int64_t c = 0; c < channels; ++c) total += std::exp(double_of(row[c]) - top);
        for (std::int64_t c = 0; c < channels; ++c) {
          const double expected = std::exp(double_of(row[c]) - top) / total;
          ASSERT_NEAR(double_of(y[static_cast<std::size_t>(r * channels + c)]), expected,
                      expected * 0x1.1p-11 + 0x1.1p-25)
              << channels << " channels, element " << c;
        }
      }
    }
}

TEST_P(SimdRows, WeighedWithInfinities) {
  const Half low = to_half(-std::numeric_limits<float>::infinity());
  const Half nan = to_half(std::numeric_limits<float>::quiet_NaN());
  std::vector<Half> x(19, to_half(2.0f));
  for (std::size_t i = 2; i < x.size(); ++i) x[i] = low;
  auto y = softmax(x, 1);
  EXPECT_EQ(double_of(y[0]), 0.5);
  EXPECT_EQ(double_of(y[1]), 0.5);
  for (std::size_t i = 2; i < x.size(); ++i) EXPECT_EQ(double_of(y[i]), 0.0);
  // Nothing to choose from, as the formula says.
  x[0] = x[1] = low;
  y = softmax(x, 1);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(std::isnan(double_of(y[i])));
  for (const std::size_t place : {0U, 3U, 18U}) {
    std::vector<Half> z(19, to_half(1.0f));
    z[place] = nan;
    y = softmax(z, 1);
    for (std::size_t i = 0; i < z.size(); ++i) EXPECT_TRUE(std::isnan(double_of(y[i])));
  }
}

INSTANTIATE_TEST_SUITE_P(, SimdRows, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace anemone::kernels::simd
