// SPDX-License-Identifier: Apache-2.0
// Products in integers, in every form of weights, against sums in double.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <iterator>

#include "kernels/simd/isa.h"
#include "kernels/simd/kernels.h"
#include "tests/kernels/weights.h"

namespace anemone::kernels::simd {
namespace {

using namespace testing;

struct SplitForm {
  const char* name;
  Form form;
  int bits;
  std::int64_t block_rows;
  std::int64_t block_k;  // 0: a row
  std::int64_t group;
};
constexpr SplitForm kForms[] = {
    {"int8_rows", Form::kInt8, 8, 1, 0, 1},          {"int8_matrix", Form::kInt8, 8, 4, 0, 1},
    {"int8_blocks_16", Form::kInt8, 8, 1, 16, 1},    {"int8_blocks_32", Form::kInt8, 8, 1, 32, 1},
    {"int8_blocks_48", Form::kInt8, 8, 2, 48, 1},    {"int8_blocks_64", Form::kInt8, 8, 2, 64, 1},
    {"int4_rows", Form::kInt4, 4, 1, 0, 1},          {"int4_blocks_32", Form::kInt4, 4, 1, 32, 1},
    {"int4_blocks_64", Form::kInt4, 4, 2, 64, 1},    {"palette4", Form::kPalette, 4, 1, 0, 4},
    {"palette4_matrix", Form::kPalette, 4, 1, 0, 0}, {"palette6", Form::kPalette, 6, 1, 0, 2},
    {"palette6_matrix", Form::kPalette, 6, 1, 0, 0}, {"palette8", Form::kPalette, 8, 1, 0, 1},
    {"palette8_groups", Form::kPalette, 8, 1, 0, 4}, {"half", Form::kHalf, 16, 1, 0, 1}};

class Int8Split : public ::testing::TestWithParam<SplitForm> {
 protected:
  void SetUp() override {
    for (const Isa isa : supported_isas()) {
      const Int8Kernels* const int8 = kernels_of(isa).int8;
      if (int8 != nullptr) sets_.push_back(int8);
#if defined(__x86_64__)
      // That of the other maker.
      if (isa == Isa::kAvx512Vbmi)
        sets_.push_back(int8 == &int8_split::kZenKernels ? &int8_split::kVbmiKernels
                                                         : &int8_split::kZenKernels);
#endif
    }
    if (sets_.empty()) GTEST_SKIP() << "this processor has no products of integers";
  }
  // The products of each instruction set that has them.
  std::vector<const Int8Kernels*> sets_;
  // The forms in which the sets differ.
  static bool has_scale_blocks() {
    return GetParam().block_k != 0;
  }
  static Weights weights(const Shape2& shape) {
    const SplitForm& f = GetParam();
    const std::int64_t block_rows = shape.rows % f.block_rows == 0 ? f.block_rows : 1;
    const std::int64_t group = f.group == 0 ? shape.rows : f.group;
    return make(f.form, f.bits, shape, block_rows, f.block_k, shape.rows % group == 0 ? group : 1);
  }
  // Shapes that the form's scale blocks divide: whole blocks, rows and elements that are left over.
  static std::vector<Shape2> shapes() {
    std::vector<Shape2> all = {{64, 128}, {40, 64},  {33, 896},  {32, 1216}, {5, 72},
                               {7, 68},   {36, 200}, {6, 96},    {35, 208},  {34, 416},
                               {3, 32},   {64, 768}, {100, 192}, {7, 132},   {5, 144}};
    std::vector<Shape2> out;
    const std::int64_t scale_block = std::max<std::int64_t>(GetParam().block_k, 2);
    std::ranges::copy_if(all, std::back_inserter(out),
                         [scale_block](const Shape2& shape) { return shape.k % scale_block == 0; });
    return out;
  }
  // Half a step of the parts of each side, and the product of the low parts, at most.
  static double tolerance(const Weights& w, std::int64_t r, const std::vector<float>& x) {
    const SplitForm& f = GetParam();
    double max_x = 0;
    double sum_x = 0;
    for (const float value : x) {
      max_x = std::max(max_x, static_cast<double>(std::abs(value)));
      sum_x += static_cast<double>(std::abs(value));
    }
    const auto depth = static_cast<std::int64_t>(x.size());
    double sum_w = 0;
    double max_w = 0;  // that the row's scales or palette can give
    for (std::int64_t c = 0; c < depth; ++c) {
      const double value = std::abs(w.values[static_cast<std::size_t>(r * depth + c)]);
      sum_w += value;
      max_w = std::max(max_w, value);
      if (f.form == Form::kInt8 || f.form == Form::kInt4)
        max_w = std::max(max_w, static_cast<double>(std::abs(w.matrix.scale(r, c))) *
                                    (f.form == Form::kInt8 ? 128 : 8));
    }
    if (f.form == Form::kPalette)
      for (std::int64_t i = 0; i < 1 << f.bits; ++i) {
        const auto entry = static_cast<std::size_t>((r / w.matrix.group << f.bits) + i);
        max_w = std::max(max_w, static_cast<double>(std::abs(to_float(w.palette[entry]))));
      }
    const bool is_exact = (f.form == Form::kInt8 || f.form == Form::kInt4) && f.block_k == 0;
    const double weight_steps = f.form == Form::kInt4 ? 2032 : 16256;
    double out = sum_w * max_x / 8191 * 0.51;
    if (!is_exact)
      out += sum_x * max_w / weight_steps * 0.51 +
             64.0 * 64 * static_cast<double>(depth) * (max_w / 16256) * (max_x / 8191);
    return out + std::abs(product(w, r, x)) * 0x1p-20;
  }
};

std::byte* aligned(std::vector<std::byte>& storage) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(storage.data()) + 63) / 64 *
                                      64);
}

// A matrix with the facts that products with n columns need.
class WithFacts {
 public:
  WithFacts(const Matrix& matrix, const Int8Kernels& int8, std::int64_t n)
      : storage_(static_cast<std::size_t>(int8.facts_bytes(matrix, n) + 64)), matrix_(matrix) {
    if (int8.facts_bytes(matrix, n) == 0) return;
    // In two parts, as several threads find them.
    const std::int64_t middle = matrix.rows / 2;
    int8.find_facts(matrix, 0, middle, aligned(storage_));
    int8.find_facts(matrix, middle, matrix.rows, aligned(storage_));
    matrix_.facts = aligned(storage_);
  }
  WithFacts(const WithFacts&) = delete;
  WithFacts& operator=(const WithFacts&) = delete;
  const Matrix& matrix() const { return matrix_; }

 private:
  std::vector<std::byte> storage_;
  Matrix matrix_;
};

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
        const WithFacts with(w.matrix, *int8, columns);
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
        const WithFacts with(w.matrix, int8, count);
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
      const WithFacts with(w.matrix, int8, 16);
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
        const WithFacts with(w.matrix, *int8, columns);
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
      const WithFacts with(w.matrix, *int8, 1);
      const Matrix& matrix = with.matrix();
      std::vector<std::byte> storage(
          static_cast<std::size_t>(int8->gemv_pack_bytes(matrix, 1) + 64));
      std::vector<std::byte> scratch(
          static_cast<std::size_t>(int8->gemv_scratch_bytes(matrix) + 64));
      const Half* column = x.data();
      int8->gemv_pack(matrix, &column, 1, aligned(storage));
      float out[4];
      int8->gemv(matrix, 0, 4, aligned(storage), out, 4, aligned(scratch));
      for (const float value : out)
        EXPECT_NEAR(static_cast<double>(value), expected, expected / 2032 * 0.51) << depth;
    }
  }
}

// A thread writes the facts of its own rows alone.
TEST_P(Int8Split, FindsFactsOfItsRowsAlone) {
  for (const Shape2 shape : shapes()) {
    const Weights w = weights(shape);
    for (const Int8Kernels* int8 : sets_) {
      // More than four columns: then rows of int8 may have facts, too.
      const auto bytes = static_cast<std::size_t>(int8->facts_bytes(w.matrix, 5));
      const auto find = [&](std::int64_t begin, std::int64_t end, std::byte before) {
        std::vector<std::byte> storage(bytes + 64, before);
        int8->find_facts(w.matrix, begin, end, aligned(storage));
        return std::vector<std::byte>(aligned(storage), aligned(storage) + bytes);
      };
      if (bytes == 0) continue;
      const std::int64_t middle = shape.rows / 3;
      const auto all = find(0, shape.rows, std::byte{1});
      EXPECT_EQ(all, find(0, shape.rows, std::byte{2}));  // each byte is written
      const std::vector<std::byte> parts[2][2] = {
          {find(0, middle, std::byte{1}), find(0, middle, std::byte{2})},
          {find(middle, shape.rows, std::byte{1}), find(middle, shape.rows, std::byte{2})}};
      for (std::size_t i = 0; i < bytes; ++i) {
        const bool is_of_first = parts[0][0][i] == parts[0][1][i];
        const bool is_of_second = parts[1][0][i] == parts[1][1][i];
        ASSERT_NE(is_of_first, is_of_second) << i;
        ASSERT_EQ(parts[is_of_first ? 0 : 1][0][i], all[i]) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Int8Split, ::testing::ValuesIn(kForms),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace anemone::kernels::simd
