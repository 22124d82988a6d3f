// SPDX-License-Identifier: Apache-2.0
// Rows whose elements are indices into palettes of 64 or 256 entries, for the products of
// int8_gemv.cc. int8_gemv_rows.h says what a row gives; palettes of 16 are there.
#pragma once

#include <bit>
#include <cstdint>
#include <immintrin.h>

#include "kernels/simd/int8_gemv_rows.h"
#include "kernels/simd/int8_split_palettes.h"
#include "kernels/simd/int8_split_rows.h"

namespace anemone::kernels::simd::int8_split {

// Indices of six bits: 48 bytes are a step.
struct Palette64Row : TwoPartsRow {
  static constexpr int kSteps = 1;
  Palette64Row(const Matrix& m, const RowBlock& block, std::int64_t begin, std::int64_t r)
      : at(m.row(begin + r)), table(block.table(r)) {
    table.high = flip(table.high);
    table.low = flip(table.low);
  }
  // The indices, one in the low six bits of each byte.
  __m512i read(std::int64_t step, __mmask64 mask) const {
    const std::byte* const from = at + step * kStepBytes;
    prefetch(from);
    // Eight indices are six bytes. Their number in a row is a multiple of four.
    const int bytes = std::popcount(mask) * 6 / 8;
    const __m512i packed = _mm512_maskz_loadu_epi8((__mmask64{1} << bytes) - 1, from);
    return spread_six_bits(packed);
  }
  template <int s>
  void split(__m512i index, __m512i& high, __m512i& low) const {
    high = _mm512_permutexvar_epi8(index, table.high);
    low = _mm512_permutexvar_epi8(index, table.low);
  }
  static constexpr std::int64_t kStepBytes = kStep * 6 / 8;
  const std::byte* at;
  Table64 table;
};

struct Palette256Row : TwoPartsRow {
  static constexpr int kSteps = 1;
  Palette256Row(const Matrix& m, const RowBlock& block, std::int64_t begin, std::int64_t r)
      : at(m.row(begin + r)), table(block.table(r)) {
    for (int i = 0; i < 4; ++i) {
      table.high[i] = flip(table.high[i]);
      table.low[i] = flip(table.low[i]);
    }
  }
  __m512i read(std::int64_t step, __mmask64 mask) const {
    prefetch(at + step * kStep);
    return _mm512_maskz_loadu_epi8(mask, at + step * kStep);
  }
  template <int s>
  void split(__m512i index, __m512i& high, __m512i& low) const {
    const __mmask64 is_upper = _mm512_movepi8_mask(index);
    high = Table256::find(table.high, index, is_upper);
    low = Table256::find(table.low, index, is_upper);
  }
  const std::byte* at;
  Table256 table;
};

}  // namespace anemone::kernels::simd::int8_split
