// SPDX-License-Identifier: Apache-2.0
// Offsets of scale blocks, over the vectors of one instruction set. An element is scale * (q -
// offset), of which the other kernels multiply scale * q; what is left is a small product: for each
// scale block, scale * offset times the sum of its inputs.
#pragma once

#include "kernels/simd/column_products.h"
#include "kernels/simd/matrix.h"
#include "kernels/simd/shuffles.h"
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

// What scale blocks [b, b + kWidth) of one row have as factors; zeros after the last one. The
// product has read the scales. The offsets are prefetched for the rows that come next, if rows are
// taken kAheadRows at a time.
inline Floats offset_factors(const Matrix& m, std::int64_t row, std::int64_t b) {
  constexpr std::int64_t kAheadRows = 32;
  const std::int64_t blocks = m.k / m.block_k;
  const Half* const scales = m.scales_at(row, 0);
  const Half* const offsets = m.offsets + (scales - m.scales) + b;
  __builtin_prefetch(address_after(offsets, kAheadRows * blocks * std::int64_t{sizeof(Half)}));
  return load_some_halves(scales + b, blocks - b) * load_some_halves(offsets, blocks - b);
}

// Few columns: the lanes are rows.
constexpr std::int64_t kFewOffsetColumns = 8;

inline void subtract_few_offsets(const Matrix& m, std::int64_t begin, std::int64_t end,
                                 const float* sums, std::int64_t lds, std::int64_t count,
                                 float* out, std::int64_t row_stride, std::int64_t column_stride) {
  const std::int64_t blocks = m.k / m.block_k;
  for (std::int64_t r = begin; r < end; r += kWidth) {
    const std::int64_t rows = end - r < kWidth ? end - r : kWidth;
    Floats taken[kFewOffsetColumns] = {};
    for (std::int64_t b = 0; b < blocks; b += kWidth) {
      Floats factors[kWidth];
      for (int i = 0; i < kWidth; ++i)
        factors[i] = i < rows ? offset_factors(m, r + i, b) : Floats{};
      transpose(factors);
      const std::int64_t left = blocks - b < kWidth ? blocks - b : kWidth;
      for (std::int64_t n = 0; n < count; ++n) {
        Floats sum = taken[n];
        for (std::int64_t j = 0; j < left; ++j)
          sum = fma(factors[j], broadcast(sums[(b + j) * lds + n]), sum);
        taken[n] = sum;
      }
    }
    for (std::int64_t n = 0; n < count; ++n) {
      float* const to = out + (r - begin) * row_stride + n * column_stride;
      for (std::int64_t i = 0; i < rows; ++i) to[i * row_stride] -= taken[n][i];
    }
  }
}

inline void subtract_offsets(const Matrix& m, std::int64_t begin, std::int64_t end,
                             const float* sums, std::int64_t lds, std::int64_t count, float* out,
                             std::int64_t row_stride, std::int64_t column_stride, float* scratch) {
  if (count <= kFewOffsetColumns)
    return subtract_few_offsets(m, begin, end, sums, lds, count, out, row_stride, column_stride);
  constexpr std::int64_t kRows = 4;
  const std::int64_t blocks = m.k / m.block_k;
  float* const factors = scratch;  // [kRows, blocks]
  for (std::int64_t r = begin; r < end; r += kRows) {
    const std::int64_t rows = end - r < kRows ? end - r : kRows;
    for (std::int64_t i = 0; i < rows; ++i) {
      // What is stored beyond the row is that of the next one, or room for it.
      for (std::int64_t b = 0; b < blocks; b += kWidth)
        store(factors + i * blocks + b, offset_factors(m, r + i, b));
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
