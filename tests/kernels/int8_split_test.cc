// SPDX-License-Identifier: Apache-2.0
// Products in integers, in every form of weights, against sums in double.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "kernels/simd/isa.h"
#include "kernels/simd/kernels.h"
#include "tests/kernels/int8_products.h"

namespace anemone::kernels::simd {
namespace {

using namespace testing;

TEST_P(Int8Split, MultipliesManyColumns) {
  RandomValues random(9);
  for (const Shape2 shape : shapes())
    for (const std::int64_t columns : {1, 8, 9, 16, 37, 40}) {
      const Weights w = weights(shape);
      const std::int64_t depth = shape.k;
      const std::int64_t blocks = (columns + 15) / 16;
      const auto x = random.halves(columns * depth, 3.0f);  // [columns][depth]
      // The result of the first instruction set. The others have the same bits, except for the sums
      // of scale blocks.
      std::vector<float> first;
      for (const Int8Kernels* int8 : sets_) {
        ASSERT_TRUE(int8->takes(w.matrix));
        const WithRowStats with(w.matrix, *int8, columns);
        const std::int64_t block_bytes = int8->gemm_pack_bytes(with.matrix());
        std::vector<std::byte> storage(static_cast<std::size_t>(blocks * block_bytes + 64));
        std::byte* packed = aligned(storage);
        for (std::int64_t b = 0; b < blocks; ++b) {
          const Half* pointers[16] = {};
          for (std::int64_t n = 0; n < 16 && b * 16 + n < columns; ++n)
            pointers[n] = x.data() + (b * 16 + n) * depth;
          int8->gemm_pack(with.matrix(), pointers, 1, packed + b * block_bytes);
        }
        std::vector<std::byte> scratch(
            static_cast<std::size_t>(int8->gemm_scratch_bytes(with.matrix(), columns) + 64));
        std::vector<float> out(static_cast<std::size_t>(shape.rows * blocks * 16));
        int8->gemm(with.matrix(), 0, shape.rows, packed, columns, out.data(), blocks * 16,
                   aligned(scratch));
        if (first.empty() || has_scale_blocks()) first = out;
        for (std::int64_t r = 0; r < shape.rows; ++r)
          for (std::int64_t n = 0; n < columns; ++n) {
            std::vector<float> column(static_cast<std::size_t>(depth));
            for (std::int64_t k = 0; k < depth; ++k)
              column[static_cast<std::size_t>(k)] =
                  to_float(x[static_cast<std::size_t>(n * depth + k)]);
            const auto at = static_cast<std::size_t>(r * blocks * 16 + n);
            ASSERT_NEAR(static_cast<double>(out[at]), product(w, r, column),
                        tolerance(w, r, column))
                << shape.rows << " x " << shape.k << ", row " << r << ", column " << n;
            ASSERT_EQ(out[at], first[at]);
          }
      }
    }
}

// A column gives the same bits alone, beside others and in a block of sixteen: how many sequences
// are decoded together does not show.
TEST_P(Int8Split, AColumnDoesNotDependOnTheOthers) {
  RandomValues random(10);
  for (const Shape2 shape : shapes()) {
    const Weights w = weights(shape);
    const std::int64_t depth = shape.k;
    auto x = random.halves(16 * depth, 3.0f);
    std::vector<Half> transposed(x.size());  // [depth][16]
    for (std::int64_t n = 0; n < 16; ++n)
      for (std::int64_t k = 0; k < depth; ++k)
        transposed[static_cast<std::size_t>(k * 16 + n)] =
            x[static_cast<std::size_t>(n * depth + k)];
    alignas(64) static std::byte packed[1 << 17];
    alignas(64) static std::byte scratch[1 << 18];
    std::vector<std::vector<float>> results;  // each [rows][16], zero where nothing was asked for
    const auto run = [&](const Int8Kernels& int8, const std::vector<int>& columns,
                         bool as_neighbours = false) {
      const Half* pointers[16] = {};
      for (const int n : columns)
        pointers[n] = as_neighbours ? transposed.data() + n : x.data() + n * depth;
      const std::int64_t stride = as_neighbours ? 16 : 1;
      auto& result = results.emplace_back(static_cast<std::size_t>(shape.rows * 16));
      if (columns.back() < kInt8GemvColumns) {
        const Half* few[kInt8GemvColumns] = {};
        for (std::size_t i = 0; i < columns.size(); ++i) few[i] = pointers[columns[i]];
        const auto count = static_cast<std::int64_t>(columns.size());
        const WithRowStats with(w.matrix, int8, count);
        const Matrix& matrix = with.matrix();
        ASSERT_LE(int8.gemv_pack_bytes(matrix, count), std::int64_t{sizeof(packed)});
        ASSERT_LE(int8.gemv_scratch_bytes(matrix), std::int64_t{sizeof(scratch)});
        int8.gemv_pack(matrix, few, count, packed);
        std::vector<float> out(static_cast<std::size_t>(count * shape.rows));
        for (std::int64_t r = 0; r < shape.rows; r += kInt8BlockRows)
          int8.gemv(matrix, r, std::min(shape.rows, r + kInt8BlockRows), packed, out.data() + r,
                    shape.rows, scratch);
        for (std::int64_t r = 0; r < shape.rows; ++r)
          for (std::size_t i = 0; i < columns.size(); ++i)
            result[static_cast<std::size_t>(r * 16 + columns[i])] =
                out[i * static_cast<std::size_t>(shape.rows) + static_cast<std::size_t>(r)];
        return;
      }
      const WithRowStats with(w.matrix, int8, 16);
      const Matrix& matrix = with.matrix();
      ASSERT_LE(int8.gemm_pack_bytes(matrix), std::int64_t{sizeof(packed)});
      ASSERT_LE(int8.gemm_scratch_bytes(matrix, 16), std::int64_t{sizeof(scratch)});
      int8.gemm_pack(matrix, pointers, stride, packed);
      for (std::int64_t r = 0; r < shape.rows; r += kInt8BlockRows)
        int8.gemm(matrix, r, std::min(shape.rows, r + kInt8BlockRows), packed, columns.back() + 1,
                  result.data() + r * 16, 16, scratch);
    };
    std::vector<int> all;
    for (int n = 0; n < 16; ++n) all.push_back(n);
    std::vector<float> first;  // as above
    for (const Int8Kernels* int8 : sets_) {
      results.clear();
      run(*int8, all);
      run(*int8, all, true);
      if (first.empty() || has_scale_blocks()) first = results[0];
      EXPECT_EQ(first, results[0]);
      EXPECT_EQ(first, results[1]);
      run(*int8, {0, 1, 2, 3, 4, 5, 6, 7});
      run(*int8, {7, 3, 1, 0, 2});
      run(*int8, {3});
      run(*int8, {1, 3});
      run(*int8, {0, 3, 5});
      run(*int8, {3, 4, 5, 6});
      run(*int8, {2, 3, 9});
      for (std::size_t i = 1; i < results.size(); ++i)
        for (std::int64_t r = 0; r < shape.rows; ++r) {
          const auto at = static_cast<std::size_t>(r * 16 + 3);
          ASSERT_EQ(results[i][at], results[0][at]) << "run " << i << ", row " << r;
        }
    }
    // A column with an infinity or NaN gives NaN, as multiplying floats does; the others stay.
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), INFINITY, -INFINITY})
      for (const std::int64_t k : {std::int64_t{0}, depth / 2, depth - 1}) {
        const Half before = x[static_cast<std::size_t>(3 * depth + k)];
        x[static_cast<std::size_t>(3 * depth + k)] = to_half(bad);
        transposed[static_cast<std::size_t>(k * 16 + 3)] = to_half(bad);
        for (const Int8Kernels* int8 : sets_) {
          results.clear();
          run(*int8, all);
          run(*int8, all, true);
          run(*int8, {3, 4});
          for (std::size_t i = 0; i < results.size(); ++i)
            for (std::int64_t r = 0; r < shape.rows; ++r) {
              const auto at = static_cast<std::size_t>(r * 16);
              ASSERT_TRUE(std::isnan(results[i][at + 3])) << "run " << i << ", row " << r;
              ASSERT_FALSE(std::isnan(results[i][at + 4])) << "run " << i << ", row " << r;
            }
        }
        x[static_cast<std::size_t>(3 * depth + k)] = before;
        transposed[static_cast<std::size_t>(k * 16 + 3)] = before;
      }
  }
}

// AMX reads few columns with instructions that every processor with VBMI has: what it does with
// them can be tested without its tiles.
TEST_P(Int8Split, MultipliesFewColumns) {
  std::vector<const Int8Kernels*> sets = sets_;
  if (const auto isas = supported_isas(); std::ranges::find(isas, Isa::kAvx512Vbmi) != isas.end())
    sets.push_back(kernels_of(Isa::kAmx).int8);
  RandomValues random(11);
  for (const Shape2 shape : shapes()) {
    const Weights w = weights(shape);
    const auto x = random.halves(kInt8GemvColumns * shape.k, 3.0f);  // [columns][depth]
    for (const Int8Kernels* int8 : sets) {
      std::vector<float> alone;  // [columns][rows]
      for (const std::int64_t columns : {1, 2, 3, 4, 5, 8}) {
        SCOPED_TRACE(columns);
        std::vector<std::byte> storage(
            static_cast<std::size_t>(int8->gemv_pack_bytes(w.matrix, columns) + 64));
        std::vector<std::byte> scratch(
            static_cast<std::size_t>(int8->gemv_scratch_bytes(w.matrix) + 64));
        const WithRowStats with(w.matrix, *int8, columns);
        const Matrix& matrix = with.matrix();
        const auto multiply = [&](std::int64_t first) {
          const Half* pointers[kInt8GemvColumns] = {};
          for (std::int64_t n = 0; n < columns; ++n) pointers[n] = x.data() + (first + n) * shape.k;
          int8->gemv_pack(matrix, pointers, columns, aligned(storage));
          std::vector<float> out(static_cast<std::size_t>(columns * shape.rows));
          for (std::int64_t r = 0; r < shape.rows; r += kInt8BlockRows)
            int8->gemv(matrix, r, std::min(shape.rows, r + kInt8BlockRows), aligned(storage),
                       out.data() + r, shape.rows, aligned(scratch));
          return out;
        };
        if (columns == 1)
          for (std::int64_t n = 0; n < kInt8GemvColumns; ++n)
            for (const float value : multiply(n)) alone.push_back(value);
        const std::vector<float> out = multiply(0);
        for (std::int64_t n = 0; n < columns; ++n) {
          std::vector<float> column(static_cast<std::size_t>(shape.k));
          for (std::int64_t k = 0; k < shape.k; ++k)
            column[static_cast<std::size_t>(k)] =
                to_float(x[static_cast<std::size_t>(n * shape.k + k)]);
          for (std::int64_t r = 0; r < shape.rows; ++r) {
            const auto at = static_cast<std::size_t>(n * shape.rows + r);
            ASSERT_NEAR(static_cast<double>(out[at]), product(w, r, column),
                        tolerance(w, r, column))
                << shape.rows << " x " << shape.k << ", row " << r << ", column " << n;
            ASSERT_EQ(out[at], alone[at]);
          }
        }
      }
    }
  }
}

// Sums stay exact where every product is as large as it can be: the bytes of deep rows are all
// -128, or the nibbles -8, under one scale and by columns of one value.
TEST_P(Int8Split, SumsOfTheLargestProductsFit) {
  const SplitForm& f = GetParam();
  if (f.form != Form::kInt8 && f.form != Form::kInt4) return;
  for (const std::int64_t depth : {std::int64_t{192}, std::int64_t{3072}, std::int64_t{30720}}) {
    Weights w = weights({4, depth});
    std::ranges::fill(w.data, static_cast<std::byte>(f.form == Form::kInt8 ? 0x80 : 0x88));
    std::ranges::fill(w.scales, to_half(0.5f));
    const std::vector<Half> x(static_cast<std::size_t>(depth), to_half(-2.0f));
    const double expected = static_cast<double>(depth) * (f.form == Form::kInt8 ? 128 : 8);
    for (const Int8Kernels* int8 : sets_) {
      for (const float value : multiply_column(w.matrix, x, *int8))
        EXPECT_NEAR(static_cast<double>(value), expected, expected / 2032 * 0.51) << depth;
    }
  }
}

// Neither an infinity nor NaN has parts. A finite number in its place would look like an answer.
TEST_P(Int8Split, WeightsThatAreNotFiniteGiveNoFiniteNumber) {
  const SplitForm& f = GetParam();
  for (const Half not_finite : {to_half(-std::numeric_limits<float>::infinity()),
                                to_half(std::numeric_limits<float>::quiet_NaN())})
    for (const Shape2 shape : shapes()) {
      Weights w = weights(shape);
      if (f.form == Form::kHalf) {
        std::memcpy(w.data.data(), &not_finite, sizeof(not_finite));
      } else if (f.form != Form::kPalette) {
        w.scales[0] = not_finite;
      } else {
        w.palette[f.bits == 4 ? 3 : 0x33] = not_finite;  // which 0x33 is, whatever its bits
        std::fill_n(w.data.begin(), w.matrix.row_bytes(), std::byte{0x33});
      }
      const std::vector<Half> x(static_cast<std::size_t>(shape.k), to_half(1.0f));
      for (const Int8Kernels* int8 : sets_) {
        const std::vector<float> out = multiply_column(w.matrix, x, *int8);
        // Integers are multiplied by the scale as one sum, which may be infinite.
        const bool has_scale = f.form == Form::kInt8 || f.form == Form::kInt4;
        EXPECT_TRUE(std::isnan(out[0]) || (has_scale && std::isinf(out[0]))) << out[0];
        if (f.group == 1 && f.block_rows == 1) {
          EXPECT_TRUE(std::isfinite(out[1])) << out[1];
        }
      }
    }
}

// The statistic of each row, and nothing of the rows before.
TEST_P(Int8Split, ComputesRowStats) {
  for (const Shape2 shape : shapes()) {
    const Weights w = weights(shape);
    for (const Int8Kernels* int8 : sets_) {
      // Rows of int8 have statistics for some numbers of columns only.
      const std::int64_t bytes =
          std::max(int8->row_stats_bytes(w.matrix, 1), int8->row_stats_bytes(w.matrix, 5));
      const bool is_half = GetParam().form == Form::kHalf;
      const bool is_int8_row = GetParam().form == Form::kInt8 && w.matrix.has_row_scale();
      if (!is_int8_row) {
        ASSERT_EQ(bytes != 0, is_half);
      }
      if (bytes == 0) continue;
      ASSERT_EQ(bytes, shape.rows * 4);
      std::vector<std::byte> stats(static_cast<std::size_t>(bytes), std::byte{7});
      int8->compute_row_stats(w.matrix, 1, shape.rows, stats.data());
      for (std::int64_t r = 0; r < shape.rows; ++r) {
        float top = 0;
        std::int32_t sum = 0;
        for (std::int64_t c = 0; c < shape.k; ++c) {
          const auto at = static_cast<std::size_t>(r * shape.k + c);
          top = std::max(top, static_cast<float>(std::abs(w.values[at])));
          if (GetParam().form == Form::kInt8) sum += static_cast<std::int8_t>(w.data[at]);
        }
        std::int32_t expected = 0x07070707;
        if (r > 0 && GetParam().form == Form::kInt8) expected = sum;
        if (r > 0 && GetParam().form == Form::kHalf) std::memcpy(&expected, &top, sizeof(top));
        std::int32_t got = 0;
        std::memcpy(&got, stats.data() + r * 4, sizeof(got));
        EXPECT_EQ(got, expected) << shape.rows << " x " << shape.k << ", row " << r;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Int8Split, ::testing::ValuesIn(kForms),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace anemone::kernels::simd
