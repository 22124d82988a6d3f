// SPDX-License-Identifier: Apache-2.0
// Forms of weights, and what multiplies them in integers, for the tests of these products.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <iterator>
#include <vector>

#include "kernels/simd/isa.h"
#include "kernels/simd/kernels.h"
#include "tests/kernels/weights.h"

namespace anemone::kernels::testing {

using simd::Int8Kernels;

struct SplitForm {
  const char* name;
  Form form;
  int bits;
  std::int64_t block_rows;
  std::int64_t block_k;  // 0: a row
  std::int64_t group;
};
inline constexpr SplitForm kForms[] = {
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
    for (const simd::Isa isa : simd::supported_isas()) {
      const Int8Kernels* const int8 = simd::kernels_of(isa).int8;
      if (int8 != nullptr) sets_.push_back(int8);
#if defined(__x86_64__)
      // That of the other maker.
      if (isa == simd::Isa::kAvx512Vbmi)
        sets_.push_back(int8 == &simd::int8_split::kZenKernels ? &simd::int8_split::kVbmiKernels
                                                               : &simd::int8_split::kZenKernels);
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

inline std::byte* aligned(std::vector<std::byte>& storage) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(storage.data()) + 63) / 64 *
                                      64);
}

// A matrix with the row statistics that products with n columns need.
class WithRowStats {
 public:
  WithRowStats(const Matrix& matrix, const Int8Kernels& int8, std::int64_t n)
      : stats_(static_cast<std::size_t>(int8.row_stats_bytes(matrix, n))), matrix_(matrix) {
    if (stats_.empty()) return;
    // In two parts, as several threads compute them.
    const std::int64_t middle = matrix.rows / 2;
    int8.compute_row_stats(matrix, 0, middle, stats_.data());
    int8.compute_row_stats(matrix, middle, matrix.rows, stats_.data());
    matrix_.row_stats = stats_.data();
  }
  WithRowStats(const WithRowStats&) = delete;
  WithRowStats& operator=(const WithRowStats&) = delete;
  const Matrix& matrix() const { return matrix_; }

 private:
  std::vector<std::byte> stats_;
  Matrix matrix_;
};

// The product of a matrix with one column.
inline std::vector<float> multiply_column(const Matrix& without, const std::vector<Half>& x,
                                          const Int8Kernels& int8) {
  const WithRowStats with(without, int8, 1);
  const Matrix& matrix = with.matrix();
  std::vector<std::byte> storage(static_cast<std::size_t>(int8.gemv_pack_bytes(matrix, 1) + 64));
  std::vector<std::byte> scratch(static_cast<std::size_t>(int8.gemv_scratch_bytes(matrix) + 64));
  const Half* column = x.data();
  int8.gemv_pack(matrix, &column, 1, aligned(storage));
  std::vector<float> out(static_cast<std::size_t>(matrix.rows));
  for (std::int64_t r = 0; r < matrix.rows; r += simd::kInt8BlockRows)
    int8.gemv(matrix, r, std::min(matrix.rows, r + simd::kInt8BlockRows), aligned(storage),
              out.data() + r, matrix.rows, aligned(scratch));
  return out;
}

}  // namespace anemone::kernels::testing
