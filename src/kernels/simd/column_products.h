// SPDX-License-Identifier: Apache-2.0
// Products of small matrices of floats, over the vectors of one instruction set: a lane is a column
// of the result, whose sums go over the depth in order.
#pragma once

#include "kernels/simd/unroll.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// The left operand of a product: element (r, k) lies at data[r * row + k * step].
struct Left {
  const float* data;
  std::int64_t row;
  std::int64_t step;
  float at(std::int64_t r, std::int64_t k) const { return data[r * row + k * step]; }
  Left below(std::int64_t rows) const { return {data + rows * row, row, step}; }
};

// kRows rows of a by kVectors vectors of columns. `kSkipsZeros`: products with a zero of b are left
// out, so that it hides infinities and NaN of a. `kAdds`: the sums begin with what `out` has, not
// with 0.
template <int kRows, int kVectors, bool kSkipsZeros, bool kAdds>
void multiply_tile(Left a, std::int64_t depth, const float* b, std::int64_t ldb, float* out,
                   std::int64_t ldo) {
  Floats sums[kRows][kVectors];
  unroll<kRows>([&](auto r) {
    unroll<kVectors>(
        [&](auto v) { sums[r][v] = kAdds ? load(out + r * ldo + v * kWidth) : Floats{}; });
  });
  for (std::int64_t k = 0; k < depth; ++k) {
    Floats columns[kVectors];
    unroll<kVectors>([&](auto v) { columns[v] = load(b + k * ldb + v * kWidth); });
    unroll<kRows>([&](auto r) {
      const Floats factor = broadcast(a.at(r, k));
      unroll<kVectors>([&](auto v) {
        const Floats sum = fma(factor, columns[v], sums[r][v]);
        if constexpr (kSkipsZeros)
          sums[r][v] = columns[v] == Floats{} ? sums[r][v] : sum;
        else
          sums[r][v] = sum;
      });
    });
  }
  unroll<kRows>([&](auto r) {
    unroll<kVectors>([&](auto v) { store(out + r * ldo + v * kWidth, sums[r][v]); });
  });
}

// Vectors of columns of a tile: the sums of four rows and the columns stay in registers.
#if defined(ANEMONE_SIMD_AVX512) || defined(ANEMONE_SIMD_NEON)
constexpr int kTileVectors = 4;  // of 32 registers
#else
constexpr int kTileVectors = 2;  // of 16
#endif

// `count`: of whole vectors.
template <int kRows, bool kSkipsZeros, bool kAdds>
void multiply_rows(Left a, std::int64_t depth, const float* b, std::int64_t ldb, std::int64_t count,
                   float* out, std::int64_t ldo) {
  std::int64_t n = 0;
  for (; n + kTileVectors * kWidth <= count; n += kTileVectors * kWidth)
    multiply_tile<kRows, kTileVectors, kSkipsZeros, kAdds>(a, depth, b + n, ldb, out + n, ldo);
  unroll<kTileVectors - 1>([&](auto v) {
    if (count - n == (v + 1) * kWidth)
      multiply_tile<kRows, v + 1, kSkipsZeros, kAdds>(a, depth, b + n, ldb, out + n, ldo);
  });
}

// out[r][n] += sum over k of a(r, k) * b[k][n], or = without kAdds: [rows, depth] by [depth,
// count], where count is a multiple of kWidth; leading dimensions ldb, ldo.
template <bool kSkipsZeros = false, bool kAdds = true>
inline void multiply_left(Left a, std::int64_t rows, std::int64_t depth, const float* b,
                          std::int64_t ldb, std::int64_t count, float* out, std::int64_t ldo) {
  std::int64_t r = 0;
  // One or two vectors of columns are multiplied by eight rows at a time. The products of four rows
  // would be too few: each waits for the one before it in the same sum.
  if constexpr (kTileVectors == 4)
    if (const std::int64_t vectors = count / kWidth; vectors <= 2)
      for (; r + 8 <= rows; r += 8)
        (vectors == 1 ? multiply_tile<8, 1, kSkipsZeros, kAdds>
                      : multiply_tile<8, 2, kSkipsZeros, kAdds>)(a.below(r), depth, b, ldb,
                                                                 out + r * ldo, ldo);
  for (; r + 4 <= rows; r += 4)
    multiply_rows<4, kSkipsZeros, kAdds>(a.below(r), depth, b, ldb, count, out + r * ldo, ldo);
  const Left last = a.below(r);
  float* const to = out + r * ldo;
  switch (rows - r) {
    case 3:
      return multiply_rows<3, kSkipsZeros, kAdds>(last, depth, b, ldb, count, to, ldo);
    case 2:
      return multiply_rows<2, kSkipsZeros, kAdds>(last, depth, b, ldb, count, to, ldo);
    case 1:
      return multiply_rows<1, kSkipsZeros, kAdds>(last, depth, b, ldb, count, to, ldo);
    default:
      return;
  }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
