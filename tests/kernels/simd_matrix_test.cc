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
         ", " + std::to_string(m.rows) + " x " + std::to_string(m.k) + ", scale_block " +
         std::to_string(m.block_k) + ", group " + std::to_string(m.group);
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

// Columns of fp16 as floats, and where they lie: [k][count], or [count][k].
struct Columns {
  std::vector<Half> halves;
  std::int64_t channel_stride, column_stride;
  Half at(std::int64_t c, std::int64_t n) const {
    return halves[static_cast<std::size_t>(c * channel_stride + n * column_stride)];
  }
  // Columns [first, first + count), in the kernel's order.
  std::vector<float> ordered(const Kernels& kernels, const Matrix& m, std::int64_t first,
                             std::int64_t count) const {
    std::vector<float> out(static_cast<std::size_t>(count * ordered_depth(m)), 55.0f);
    kernels.order_columns(m, halves.data() + first * column_stride, channel_stride, column_stride,
                          count, out.data());
    return out;
  }
};

// Columns [first, first + count) by rows [begin, m.rows), as [count][rows].
std::vector<float> multiply(const Kernels& kernels, const Matrix& m, const Columns& columns,
                            std::int64_t first, std::int64_t count, std::int64_t begin,
                            bool is_by_row) {
  const std::vector<float> ordered = columns.ordered(kernels, m, first, count);
  std::vector<const float*> x;
  for (std::int64_t n = 0; n < count; ++n) x.push_back(ordered.data() + n * ordered_depth(m));
  const std::int64_t rows = m.rows - begin;
  std::vector<float> out(static_cast<std::size_t>((count + 1) * (rows + 1)), 77.0f);
  std::vector<float> scratch(static_cast<std::size_t>(multiply_scratch(m)));
  kernels.multiply(m, begin, m.rows, x.data(), static_cast<int>(count), out.data(),
                   is_by_row ? count + 1 : 1, is_by_row ? 1 : rows + 1, scratch.data());
  std::vector<float> packed;
  for (std::int64_t n = 0; n <= count; ++n)
    for (std::int64_t r = 0; r <= rows; ++r) {
      const float value =
          out[static_cast<std::size_t>(is_by_row ? r * (count + 1) + n : n * (rows + 1) + r)];
      if (n < count && r < rows)
        packed.push_back(value);
      else
        EXPECT_EQ(value, 77.0f) << "after the result";
    }
  return packed;
}

Columns random_columns(std::int64_t k, std::int64_t count, bool is_channel_major) {
  RandomValues random(5);
  Columns out{random.halves(k * count), is_channel_major ? count : 1, is_channel_major ? 1 : k};
  return out;
}

TEST_P(SimdMatrix, MultipliesAnyNumberOfColumns) {
  for (const Weights& w : all_weights()) {
    SCOPED_TRACE(describe(w.matrix));
    const Matrix& m = w.matrix;
    for (const std::int64_t count : {1, 2, 3, 4, 7, 8, 9, 21, 33}) {
      const bool is_channel_major = count % 2 != 0;
      const Columns columns = random_columns(m.k, count, is_channel_major);
      const std::int64_t begin = m.rows / 3;
      const auto out = multiply(kernels_, m, columns, 0, count, begin, is_channel_major);
      for (std::int64_t n = 0; n < count; ++n) {
        std::vector<float> x;
        for (std::int64_t c = 0; c < m.k; ++c) x.push_back(to_float(columns.at(c, n)));
        for (std::int64_t r = begin; r < m.rows; ++r)
          ASSERT_NEAR(
              static_cast<double>(out[static_cast<std::size_t>(n * (m.rows - begin) + r - begin)]),
              product(w, r, x), tolerance(w, r, x))
              << count << " columns, row " << r;
      }
    }
  }
}

// A token is the same alone and in a prompt of any length.
TEST_P(SimdMatrix, ColumnsGiveTheSameBitsInAnyCompany) {
  std::vector<Weights> all = all_weights();
  // Deeper than what is multiplied at a time.
  const Shape2 deep = {19, 2240};
  all.push_back(make(Form::kHalf, 16, deep, 1, 0, 1));
  all.push_back(make(Form::kInt8, 8, deep, 1, 0, 1));
  all.push_back(make(Form::kInt4, 4, deep, 1, 32, 1));
  all.push_back(make(Form::kPalette, 4, deep, 1, 0, 1));
  all.push_back(make(Form::kPalette, 6, deep, 1, 0, 1));
  all.push_back(make(Form::kPalette, 8, deep, 1, 0, 1));
  for (const Weights& w : all) {
    SCOPED_TRACE(describe(w.matrix));
    const Matrix& m = w.matrix;
    constexpr std::int64_t kColumns = 37;
    for (const bool is_channel_major : {false, true}) {
      const Columns columns = random_columns(m.k, kColumns, is_channel_major);
      const auto together = multiply(kernels_, m, columns, 0, kColumns, 0, is_channel_major);
      for (const std::int64_t width : {1, 2, 3, 4, 5, 9, 16, 17, 36})
        for (std::int64_t first = 0; first < kColumns; first += width) {
          const std::int64_t count = std::min(width, kColumns - first);
          const auto some = multiply(kernels_, m, columns, first, count, 0, !is_channel_major);
          ASSERT_EQ(std::memcmp(some.data(), together.data() + first * m.rows,
                                some.size() * sizeof(float)),
                    0)
              << count << " columns from " << first;
        }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, SimdMatrix, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace anemone::kernels::simd
