// SPDX-License-Identifier: Apache-2.0
// Offsets of scale blocks, over the vectors of one instruction set. An element is scale * (q -
// offset), of which the other kernels multiply scale * q; what is left is a small product: for each
// scale block, scale * offset times the sum of its inputs.
#pragma once

#include "kernels/simd/column_products.h"
#include "kernels/simd/matrix.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// Element i of a scale block is added to number i % kSumLanes of so many sums, which are then added
// up, halves onto each other: the same order for one column and for many.
constexpr int kSumLanes = 16;

template <typename T>
inline T add_up(T* sums) {
  for (int half = kSumLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  return sums[0];
}

inline void sum_scale_blocks(const Matrix& m, const Half* x, std::int64_t channel_stride,
                             std::int64_t column_stride, std::int64_t count, float* out,
                             std::int64_t ldo) {
  std::int64_t n = 0;
  if (column_stride == 1)
    for (; n + kWidth <= count; n += kWidth)
      for (std::int64_t b = 0; b < m.k / m.block_k; ++b) {
        const Half* at = x + b * m.block_k * channel_stride + n;
        Floats sums[kSumLanes] = {};
        for (std::int64_t i = 0; i < m.block_k; ++i, at += channel_stride)
          sums[i % kSumLanes] += load_halves(at);
        store(out + b * ldo + n, add_up(sums));
      }
  for (; n < count; ++n)
    for (std::int64_t b = 0; b < m.k / m.block_k; ++b) {
      const Half* const at = x + n * column_stride + b * m.block_k * channel_stride;
      float sums[kSumLanes] = {};
      std::int64_t i = 0;
      if (channel_stride == 1)
        for (; i + kSumLanes <= m.block_k; i += kSumLanes) {
          float some[kSumLanes];
          to_floats(at + i, some, kSumLanes);
          for (int lane = 0; lane < kSumLanes; ++lane) sums[lane] += some[lane];
        }
      for (; i < m.block_k; ++i) sums[i % kSumLanes] += to_float(at[i * channel_stride]);
      out[b * ldo + n] = add_up(sums);
    }
}

inline void subtract_offsets(const Matrix& m, std::int64_t begin, std::int64_t end,
                             const float* sums, std::int64_t lds, std::int64_t count, float* out,
                             std::int64_t row_stride, std::int64_t column_stride, float* scratch) {
  constexpr std::int64_t kRows = 4;
  const std::int64_t blocks = m.k / m.block_k;
  float* const factors = scratch;  // [kRows, blocks]
  for (std::int64_t r = begin; r < end; r += kRows) {
    const std::int64_t rows = end - r < kRows ? end - r : kRows;
    for (std::int64_t i = 0; i < rows; ++i) {
      const Half* const scales = m.scales_at(r + i, 0);
      const Half* const offsets = m.offsets + (scales - m.scales);
      float* const to = factors + i * blocks;
      std::int64_t b = 0;
      for (; b + kWidth <= blocks; b += kWidth)
        store(to + b, load_halves(scales + b) * load_halves(offsets + b));
      for (; b < blocks; ++b) to[b] = to_float(scales[b]) * to_float(offsets[b]);
    }
    for (std::int64_t n = 0; n < count; n += kOffsetColumns) {
      const std::int64_t columns = count - n < kOffsetColumns ? count - n : kOffsetColumns;
      float taken[kRows * kOffsetColumns] = {};
      multiply_left({factors, blocks, 1}, rows, blocks, sums + n, lds,
                    (columns + kWidth - 1) / kWidth * kWidth, taken, kOffsetColumns);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
          out[(r - begin + i) * row_stride + (n + j) * column_stride] -=
              taken[i * kOffsetColumns + j];
    }
  }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
