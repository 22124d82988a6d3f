// SPDX-License-Identifier: Apache-2.0
// The other kernels of a layer on every instruction set of this machine, against double.
#include <cmath>
#include <gtest/gtest.h>
#include <string>

#include "kernels/simd/kernels.h"
#include "tests/kernels/random_values.h"

namespace anemone::kernels::simd {
namespace {

using testing::RandomValues;

class SimdVector : public ::testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels_ = kernels_of(GetParam());
};

double value(Half h) {
  return static_cast<double>(to_float(h));
}

// One rounding to fp16 of a value near `expected`, which fp32 arithmetic may have moved a little.
void expect_half(Half got, double expected, const std::string& where) {
  ASSERT_NEAR(value(got), expected, std::abs(expected) * 0x1.1p-11 + 0x1p-24) << where;
}

TEST_P(SimdVector, ConvertsExactly) {
  std::vector<Half> all(65536);
  for (std::uint32_t bits = 0; bits < 65536; ++bits)
    all[bits] = Half{static_cast<std::uint16_t>(bits)};
  std::vector<float> floats(all.size());
  kernels_.to_floats(all.data(), floats.data(), 65536);
  std::vector<Half> back(all.size());
  kernels_.to_halves(floats.data(), back.data(), 65533);
  for (std::uint32_t bits = 0; bits < 65533; ++bits) {
    if (std::isnan(to_float(all[bits]))) continue;
    ASSERT_EQ(floats[bits], to_float(all[bits])) << bits;
    ASSERT_EQ(back[bits].bits, bits);
  }
}

TEST_P(SimdVector, AddsAndActivates) {
  RandomValues random(1);
  for (const std::int64_t count : {1, 15, 16, 100}) {
    const auto a = random.halves(count, 12.0f);
    const auto b = random.halves(count, 3.0f);
    std::vector<Half> sums(a.size() + 1, Half{0x1234});
    std::vector<Half> products = sums;
    kernels_.add(a.data(), b.data(), sums.data(), count);
    kernels_.silu_multiply(a.data(), b.data(), products.data(), count);
    for (std::size_t i = 0; i < a.size(); ++i) {
      expect_half(sums[i], value(a[i]) + value(b[i]), "sum " + std::to_string(i));
      expect_half(products[i], value(a[i]) / (1 + std::exp(-value(a[i]))) * value(b[i]),
                  "product " + std::to_string(i));
    }
    EXPECT_EQ(sums.back().bits, 0x1234);
    EXPECT_EQ(products.back().bits, 0x1234);
  }
}

// The inputs are beyond the range of e^x in fp32.
TEST_P(SimdVector, ActivatesLargeValues) {
  const std::vector<Half> a = {to_half(-60000.0f), to_half(60000.0f), to_half(-100.0f),
                               to_half(0.0f)};
  const std::vector<Half> ones(4, to_half(1.0f));
  std::vector<Half> out(4);
  kernels_.silu_multiply(a.data(), ones.data(), out.data(), 4);
  EXPECT_EQ(value(out[0]), 0.0);
  EXPECT_EQ(value(out[1]), 60000.0);
  EXPECT_EQ(value(out[2]), 0.0);
  EXPECT_EQ(value(out[3]), 0.0);
}

TEST_P(SimdVector, NormsColumnsAndRows) {
  RandomValues random(2);
  for (const std::int64_t channels : {8, 64, 83})
    for (const std::int64_t tokens : {1, 5, 16, 21})
      for (const float range : {0.001f, 1.0f, 3000.0f}) {
        const auto x = random.halves(channels * tokens, range);  // [channels][tokens]
        const auto weight = random.halves(channels, 2.0f);
        std::vector<Half> rows(x.size());  // [tokens][channels]
        for (std::int64_t c = 0; c < channels; ++c)
          for (std::int64_t t = 0; t < tokens; ++t)
            rows[static_cast<std::size_t>(t * channels + c)] =
                x[static_cast<std::size_t>(c * tokens + t)];
        std::vector<Half> by_column(x.size());
        std::vector<Half> by_row(x.size());
        kernels_.rms_norm(x.data(), weight.data(), 1e-5f, channels, tokens, tokens,
                          by_column.data());
        kernels_.rms_norm_rows(rows.data(), weight.data(), 1e-5f, channels, tokens, by_row.data());
        for (std::int64_t t = 0; t < tokens; ++t) {
          double squares = 0;
          for (std::int64_t c = 0; c < channels; ++c)
            squares += std::pow(value(x[static_cast<std::size_t>(c * tokens + t)]), 2);
          const double factor = 1 / std::sqrt(squares / static_cast<double>(channels) + 1e-5);
          for (std::int64_t c = 0; c < channels; ++c) {
            const auto at = static_cast<std::size_t>(c * tokens + t);
            const double expected =
                value(x[at]) * factor * value(weight[static_cast<std::size_t>(c)]);
            expect_half(by_column[at], expected, "column");
            const Half row = by_row[static_cast<std::size_t>(t * channels + c)];
            expect_half(row, expected, "row");
            ASSERT_EQ(by_column[at].bits, row.bits) << "column " << t << " of " << tokens;
          }
        }
      }
}

TEST_P(SimdVector, StoresColumnsOfAProduct) {
  RandomValues random(5);
  constexpr std::int64_t kStride = 32;
  for (const std::int64_t rows : {1, 7, 16, 40})
    for (const std::int64_t count : {1, 5, 8, 16, 31}) {
      const auto in = random.floats(rows * kStride, 4.0f);
      std::vector<std::vector<Half>> columns(static_cast<std::size_t>(count));
      std::vector<Half*> out;
      for (auto& column : columns) {
        column.resize(static_cast<std::size_t>(rows));
        out.push_back(column.data());
      }
      kernels_.columns_to_halves(in.data(), kStride, rows, count, out.data());
      for (std::int64_t c = 0; c < count; ++c)
        for (std::int64_t r = 0; r < rows; ++r)
          ASSERT_EQ(columns[static_cast<std::size_t>(c)][static_cast<std::size_t>(r)].bits,
                    to_half(in[static_cast<std::size_t>(r * kStride + c)]).bits)
              << "row " << r << " of " << rows << ", column " << c << " of " << count;
    }
}

TEST_P(SimdVector, Rotates) {
  RandomValues random(3);
  for (const std::int64_t half : {4, 32, 35}) {
    const auto x = random.halves(2 * half, 4.0f);
    const auto cos = random.halves(half);
    const auto sin = random.halves(half);
    std::vector<Half> y(x.size());
    const auto cos2 = random.halves(half);
    const auto sin2 = random.halves(half);
    kernels_.rotate(x.data(), {{cos.data(), cos2.data()}, {sin.data(), sin2.data()}}, half,
                    y.data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(half); ++i) {
      const std::size_t j = i + static_cast<std::size_t>(half);
      // The difference of two products may be small against them.
      const double slack = (std::abs(value(x[i])) + std::abs(value(x[j]))) * 0x1p-22;
      const double first = (value(x[i]) * value(cos[i]) - value(x[j]) * value(sin[i]));
      const double second = (value(x[j]) * value(cos2[i]) + value(x[i]) * value(sin2[i]));
      EXPECT_NEAR(value(y[i]), first, std::abs(first) * 0x1p-11 + slack + 0x1p-24);
      EXPECT_NEAR(value(y[j]), second, std::abs(second) * 0x1p-11 + slack + 0x1p-24);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, SimdVector, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace anemone::kernels::simd
