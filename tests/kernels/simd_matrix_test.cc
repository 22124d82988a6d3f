// SPDX-License-Identifier: Apache-2.0
// Products with weights of every form on every instruction set of this machine, against sums in
// double.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

#include "kernels/simd/kernels.h"
#include "tensor/bits.h"
#include "tests/kernels/random_values.h"
#if defined(__x86_64__)
#include "kernels/simd/amx.h"
#endif

namespace anemone::kernels::simd {
namespace {

using testing::RandomValues;
using Form = Matrix::Form;

// A matrix with the storage behind it.
struct Weights {
  Matrix matrix;
  std::vector<std::byte> data;
  std::vector<Half> scales;
  std::vector<Half> palette;
  std::vector<double> values;  // what it stands for
};

struct Shape2 {
  std::int64_t rows, columns;
};

Weights make(Form form, int bits, const Shape2& shape, std::int64_t tile_rows,
             std::int64_t tile_columns, std::int64_t group) {
  RandomValues random(static_cast<std::uint32_t>(shape.rows * 7 + shape.columns + bits));
  Weights w;
  Matrix& m = w.matrix;
  m = {.form = form, .rows = shape.rows, .columns = shape.columns, .bits = bits};
  const std::int64_t count = shape.rows * shape.columns;
  w.data = random.bytes((count * bits + 7) / 8);
  if (form == Form::kFloat || form == Form::kHalf) {
    const auto floats = random.floats(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Half half = to_half(floats[at]);
      if (form == Form::kFloat)
        std::memcpy(&w.data[at * 4], &floats[at], 4);
      else
        std::memcpy(&w.data[at * 2], &half, 2);
    }
  }
  if (form == Form::kInt8 || form == Form::kInt4) {
    m.tile_rows = tile_rows;
    m.tile_columns = tile_columns == 0 ? shape.columns : tile_columns;
    w.scales = random.halves(shape.rows / m.tile_rows * (shape.columns / m.tile_columns), 0.1f);
    m.scales = w.scales.data();
  }
  if (form == Form::kPalette) {
    m.group = group;
    w.palette = random.halves((shape.rows / group) << bits);
    m.palette = w.palette.data();
  }
  m.data = w.data.data();
  const DType packed = bits == 4   ? (form == Form::kInt4 ? DType::kInt4 : DType::kUInt4)
                       : bits == 6 ? DType::kUInt6
                                   : DType::kUInt8;
  for (std::int64_t r = 0; r < shape.rows; ++r)
    for (std::int64_t c = 0; c < shape.columns; ++c) {
      const std::int64_t i = r * shape.columns + c;
      const auto at = static_cast<std::size_t>(i);
      double value = 0;
      switch (form) {
        case Form::kFloat: {
          float f;
          std::memcpy(&f, &w.data[at * 4], 4);
          value = static_cast<double>(f);
          break;
        }
        case Form::kHalf: {
          Half h;
          std::memcpy(&h, &w.data[at * 2], 2);
          value = static_cast<double>(to_float(h));
          break;
        }
        case Form::kInt8:
          value = static_cast<double>(static_cast<std::int8_t>(w.data[at])) *
                  static_cast<double>(m.scale(r, c));
          break;
        case Form::kInt4:
          value = static_cast<double>(unpack_bits(w.data, packed, static_cast<std::uint64_t>(i))) *
                  static_cast<double>(m.scale(r, c));
          break;
        case Form::kPalette: {
          const auto index = bits == 8 ? static_cast<std::int32_t>(w.data[at])
                                       : unpack_bits(w.data, packed, static_cast<std::uint64_t>(i));
          value = static_cast<double>(
              to_float(w.palette[static_cast<std::size_t>((r / group << bits) + index)]));
          break;
        }
      }
      w.values.push_back(value);
    }
  return w;
}

// Every form, with sizes that fill whole vectors and such that do not.
std::vector<Weights> all_weights() {
  std::vector<Weights> out;
  for (const Shape2 shape : {Shape2{64, 128}, Shape2{37, 192}, Shape2{6, 72}, Shape2{1, 64}}) {
    out.push_back(make(Form::kFloat, 32, shape, 1, 0, 1));
    out.push_back(make(Form::kHalf, 16, shape, 1, 0, 1));
    out.push_back(make(Form::kInt8, 8, shape, shape.rows, 0, 1));
    out.push_back(make(Form::kInt8, 8, shape, 1, 0, 1));
    out.push_back(make(Form::kInt8, 8, shape, 1, shape.columns % 32 == 0 ? 32 : 8, 1));
    out.push_back(make(Form::kInt4, 4, shape, 1, shape.columns % 32 == 0 ? 32 : 8, 1));
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
         ", " + std::to_string(m.rows) + " x " + std::to_string(m.columns) + ", tile " +
         std::to_string(m.tile_columns) + ", group " + std::to_string(m.group);
}

class SimdMatrix : public ::testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels_ = kernels_of(GetParam());
};

// fp32 sums of n products err by at most n * 2^-24 of the sum of magnitudes.
double tolerance(const Weights& w, std::int64_t row, const std::vector<float>& x) {
  double magnitude = 0;
  const std::int64_t n = w.matrix.columns;
  for (std::int64_t c = 0; c < n; ++c)
    magnitude += std::abs(w.values[static_cast<std::size_t>(row * n + c)] *
                          static_cast<double>(x[static_cast<std::size_t>(c)]));
  return magnitude * static_cast<double>(n + 2) * 0x1p-24 + 1e-30;
}

double product(const Weights& w, std::int64_t row, const std::vector<float>& x) {
  double sum = 0;
  const std::int64_t n = w.matrix.columns;
  for (std::int64_t c = 0; c < n; ++c)
    sum += w.values[static_cast<std::size_t>(row * n + c)] *
           static_cast<double>(x[static_cast<std::size_t>(c)]);
  return sum;
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
    for (int count = 1; count <= kNarrow; ++count) {
      std::vector<std::vector<float>> x;
      std::vector<std::vector<float>> ordered;
      std::vector<const float*> columns;
      for (int n = 0; n < count; ++n) {
        x.push_back(random.floats(m.columns));
        ordered.emplace_back(x.back().size());
        kernels_.order_column(m, x.back().data(), ordered.back().data());
      }
      for (const auto& column : ordered) columns.push_back(column.data());
      const std::int64_t begin = m.rows / 3;
      const std::int64_t rows = m.rows - begin;
      std::vector<float> out(static_cast<std::size_t>(count * (rows + 1)), 77.0f);
      std::vector<float> scratch(static_cast<std::size_t>(m.columns));
      kernels_.narrow(m, begin, m.rows, columns.data(), count, out.data(), rows + 1,
                      scratch.data());
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

#if defined(__x86_64__)
TEST(Amx, MultipliesInt8WithManyColumns) {
  if (best_isa() != Isa::kAmx) GTEST_SKIP() << "this processor has no AMX";
  RandomValues random(9);
  for (const Shape2 shape : {Shape2{64, 128}, Shape2{40, 64}, Shape2{5, 70}, Shape2{33, 896}})
    for (const bool per_row : {true, false})
      for (const std::int64_t columns : {1, 16, 37}) {
        const Weights w = make(Form::kInt8, 8, shape, per_row ? 1 : shape.rows, 0, 1);
        ASSERT_TRUE(amx::takes(w.matrix));
        const std::int64_t depth = shape.columns;
        const std::int64_t blocks = (columns + 15) / 16;
        const auto x = random.halves(columns * depth, 3.0f);  // [columns][depth]
        std::vector<std::int8_t> storage(
            static_cast<std::size_t>(blocks * amx::digit_bytes(depth) + 64));
        auto* digits = reinterpret_cast<std::int8_t*>(
            (reinterpret_cast<std::uintptr_t>(storage.data()) + 63) / 64 * 64);
        std::vector<float> scales(static_cast<std::size_t>(blocks * 16));
        for (std::int64_t b = 0; b < blocks; ++b) {
          const Half* pointers[16] = {};
          for (std::int64_t n = 0; n < 16 && b * 16 + n < columns; ++n)
            pointers[n] = x.data() + (b * 16 + n) * depth;
          amx::make_digits(pointers, 1, depth, digits + b * amx::digit_bytes(depth),
                           scales.data() + b * 16);
        }
        std::vector<std::byte> scratch(
            static_cast<std::size_t>(amx::kBlockRows * (amx::round_up(depth, 64) + 128) + 64));
        auto* aligned = reinterpret_cast<std::byte*>(
            (reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
        std::vector<float> out(static_cast<std::size_t>(shape.rows * blocks * 16));
        const amx::Tiles tiles;
        for (std::int64_t r = 0; r < shape.rows; r += amx::kBlockRows)
          amx::multiply(w.matrix, r, std::min(shape.rows, r + amx::kBlockRows), digits,
                        scales.data(), blocks, out.data() + r * blocks * 16, blocks * 16, aligned);
        for (std::int64_t r = 0; r < shape.rows; ++r)
          for (std::int64_t n = 0; n < columns; ++n) {
            std::vector<float> column(static_cast<std::size_t>(depth));
            float most = 0;
            for (std::int64_t k = 0; k < depth; ++k) {
              column[static_cast<std::size_t>(k)] =
                  to_float(x[static_cast<std::size_t>(n * depth + k)]);
              most = std::max(most, std::abs(column[static_cast<std::size_t>(k)]));
            }
            // Half a step of the digits for each weight.
            double weights = 0;
            for (std::int64_t k = 0; k < depth; ++k)
              weights += std::abs(w.values[static_cast<std::size_t>(r * depth + k)]);
            const double expected = product(w, r, column);
            ASSERT_NEAR(
                static_cast<double>(out[static_cast<std::size_t>(r * blocks * 16 + n)]), expected,
                weights * static_cast<double>(most) / 8191 * 0.51 + std::abs(expected) * 0x1p-22);
          }
      }
}

// A column gives the same bits alone, beside others and in a block of sixteen: how many sequences
// are decoded together does not show.
TEST(Amx, AColumnDoesNotDependOnTheOthers) {
  if (best_isa() != Isa::kAmx) GTEST_SKIP() << "this processor has no AMX";
  RandomValues random(10);
  for (const Shape2 shape : {Shape2{64, 128}, Shape2{37, 70}, Shape2{32, 896}}) {
    const Weights w = make(Form::kInt8, 8, shape, 1, 0, 1);
    const std::int64_t depth = shape.columns;
    const auto x = random.halves(16 * depth, 3.0f);
    std::vector<Half> turned(x.size());  // [depth][16]
    for (std::int64_t n = 0; n < 16; ++n)
      for (std::int64_t k = 0; k < depth; ++k)
        turned[static_cast<std::size_t>(k * 16 + n)] = x[static_cast<std::size_t>(n * depth + k)];
    alignas(64) static std::int8_t digits[1 << 16];
    alignas(64) static std::byte scratch[1 << 16];
    float scales[16];
    const amx::Tiles tiles;
    std::vector<std::vector<float>> results;  // each [rows][16], zero where nothing was asked for
    const auto run = [&](const std::vector<int>& columns, bool as_neighbours) {
      const Half* pointers[16] = {};
      for (const int n : columns)
        pointers[n] = as_neighbours ? turned.data() + n : x.data() + n * depth;
      const std::int64_t stride = as_neighbours ? 16 : 1;
      auto& result = results.emplace_back(static_cast<std::size_t>(shape.rows * 16));
      const bool is_few = columns.back() < amx::kFewColumns;
      if (is_few)
        amx::make_few_digits(pointers, stride, depth, digits, scales);
      else
        amx::make_digits(pointers, stride, depth, digits, scales);
      for (std::int64_t r = 0; r < shape.rows; r += amx::kBlockRows) {
        const std::int64_t end = std::min(shape.rows, r + amx::kBlockRows);
        if (!is_few) {
          amx::multiply(w.matrix, r, end, digits, scales, 1, result.data() + r * 16, 16, scratch);
          continue;
        }
        float few[amx::kBlockRows * amx::kFewColumns];
        amx::multiply_few(w.matrix, r, end, digits, scales, few, scratch);
        for (std::int64_t i = 0; i < end - r; ++i)
          for (const int n : columns)
            result[static_cast<std::size_t>((r + i) * 16 + n)] = few[i * amx::kFewColumns + n];
      }
    };
    std::vector<int> all;
    for (int n = 0; n < 16; ++n) all.push_back(n);
    run(all, false);
    run(all, true);
    EXPECT_EQ(results[0], results[1]);
    run({0, 1, 2, 3, 4, 5, 6, 7}, false);
    run({3}, false);
    run({3}, true);
    run({2, 3, 9}, false);
    for (std::size_t i = 2; i < results.size(); ++i)
      for (std::int64_t r = 0; r < shape.rows; ++r) {
        const auto at = static_cast<std::size_t>(r * 16 + 3);
        ASSERT_EQ(results[i][at], results[0][at]) << "run " << i << ", row " << r;
      }
  }
}
#endif

}  // namespace
}  // namespace anemone::kernels::simd
