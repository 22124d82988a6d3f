// SPDX-License-Identifier: Apache-2.0
// Products with weights of every form on every instruction set of this machine, against sums in
// double.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

#include "kernels/simd/kernels.h"
#include "tests/kernels/random_values.h"
#include "tests/kernels/weights.h"

namespace anemone::kernels::simd {
namespace {

using namespace testing;

// Every form, with sizes that fill whole vectors and such that do not.
std::vector<Weights> all_weights() {
  std::vector<Weights> out;
  for (const Shape2 shape : {Shape2{64, 128}, Shape2{37, 192}, Shape2{6, 72}, Shape2{1, 64}}) {
    out.push_back(make(Form::kFloat, 32, shape, 1, 0, 1));
    out.push_back(make(Form::kHalf, 16, shape, 1, 0, 1));
    out.push_back(make(Form::kInt8, 8, shape, shape.rows, 0, 1));
    out.push_back(make(Form::kInt8, 8, shape, 1, 0, 1));
    out.push_back(make(Form::kInt8, 8, shape, 1, shape.k % 32 == 0 ? 32 : 8, 1));
    out.push_back(make(Form::kInt4, 4, shape, 1, shape.k % 32 == 0 ? 32 : 8, 1));
    out.push_back(make(Form::kInt4, 4, shape, 1, 0, 1));
    for (const int bits : {4, 6, 8})
      for (const std::int64_t group : {std::int64_t{1}, shape.rows % 2 == 0 ? 2 : shape.rows})
        out.push_back(make(Form::kPalette, bits, shape, 1, 0, group));
  }
  out.push_back(make(Form::kHalf, 16, {3, 13}, 1, 0, 1));
  out.push_back(make(Form::kFloat, 32, {5, 1}, 1, 0, 1));
  return out;
}

std::string describe(const Matrix& m) {
  return "form " + std::to_string(static_cast<int>(m.form)) + ", bits " + std::to_string(m.bits) +
         ", " + std::to_string(m.rows) + " x " + std::to_string(m.k) + ", tile " +
         std::to_string(m.tile_k) + ", group " + std::to_string(m.group);
}

class SimdMatrix : public ::testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels_ = kernels_of(GetParam());
};

// fp32 sums of n products err by at most n * 2^-24 of the sum of magnitudes.
double tolerance(const Weights& w, std::int64_t row, const std::vector<float>& x) {
  double magnitude = 0;
  const std::int64_t k = w.matrix.k;
  for (std::int64_t c = 0; c < k; ++c)
    magnitude += std::abs(w.values[static_cast<std::size_t>(row * k + c)] *
                          static_cast<double>(x[static_cast<std::size_t>(c)]));
  return magnitude * static_cast<double>(k + 2) * 0x1p-24 + 1e-30;
}

TEST_P(SimdMatrix, ExpandsEveryForm) {
  for (const Weights& w : all_weights()) {
    SCOPED_TRACE(describe(w.matrix));
    std::vector<float> out(w.values.size());
    kernels_.expand(w.matrix, 0, w.matrix.rows, out.data());
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_NEAR(static_cast<double>(out[i]), w.values[i], std::abs(w.values[i]) * 0x1p-23) << i;
  }
}

TEST_P(SimdMatrix, MultipliesAFewColumns) {
  for (const Weights& w : all_weights()) {
    SCOPED_TRACE(describe(w.matrix));
    RandomValues random(5);
    const Matrix& m = w.matrix;
    for (int count = 1; count <= kGemvTokens; ++count) {
      std::vector<std::vector<float>> x;
      std::vector<std::vector<float>> ordered;
      std::vector<const float*> columns;
      for (int n = 0; n < count; ++n) {
        x.push_back(random.floats(m.k));
        ordered.emplace_back(x.back().size());
        kernels_.order_column(m, x.back().data(), ordered.back().data());
      }
      for (const auto& column : ordered) columns.push_back(column.data());
      const std::int64_t begin = m.rows / 3;
      const std::int64_t rows = m.rows - begin;
      std::vector<float> out(static_cast<std::size_t>(count * (rows + 1)), 77.0f);
      std::vector<float> scratch(static_cast<std::size_t>(m.k));
      kernels_.gemv(m, begin, m.rows, columns.data(), count, out.data(), rows + 1, scratch.data());
      for (int n = 0; n < count; ++n) {
        const auto& column = x[static_cast<std::size_t>(n)];
        for (std::int64_t r = 0; r < rows; ++r)
          ASSERT_NEAR(static_cast<double>(out[static_cast<std::size_t>(n * (rows + 1) + r)]),
                      product(w, begin + r, column), tolerance(w, begin + r, column));
        EXPECT_EQ(out[static_cast<std::size_t>(n * (rows + 1) + rows)], 77.0f);
      }
    }
  }
}

TEST_P(SimdMatrix, MultipliesFloats) {
  RandomValues random(6);
  for (const std::int64_t rows : {1, 4, 7})
    for (const std::int64_t depth : {1, 19})
      for (const std::int64_t count : {1, 3, 16, 33, 130}) {
        const auto a = random.floats(rows * (depth + 2));
        const auto b = random.floats(depth * (count + 1));
        auto out = random.floats(rows * (count + 3));
        const auto before = out;
        kernels_.multiply(a.data(), depth + 2, rows, depth, b.data(), count + 1, count, out.data(),
                          count + 3);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t n = 0; n < count + 3; ++n) {
            const auto at = static_cast<std::size_t>(r * (count + 3) + n);
            double expected = static_cast<double>(before[at]);
            for (std::int64_t k = 0; k < depth && n < count; ++k)
              expected += static_cast<double>(a[static_cast<std::size_t>(r * (depth + 2) + k)]) *
                          static_cast<double>(b[static_cast<std::size_t>(k * (count + 1) + n)]);
            ASSERT_NEAR(static_cast<double>(out[at]), expected, 21 * 0x1p-23 * 20);
          }
      }
}

INSTANTIATE_TEST_SUITE_P(, SimdMatrix, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace anemone::kernels::simd
