// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <immintrin.h>

#include "kernels/simd/int8_gemv.h"
#include "kernels/simd/unroll.h"

namespace anemone::kernels::simd::int8_split {

// Turns the integer sums of eight products into floats: puts the sums of high and low parts
// together, subtracts the offsets that unsigned weights added (int8_gemv_rows.h), and multiplies by
// the scales.
class EightProducts {
 public:
  // column_of(p) is the column that product p belongs to. `Row`: int8_gemv_rows.h.
  template <typename Row, typename ColumnOf>
  static EightProducts of(const GemvColumns& columns, const ColumnOf& column_of) {
    EightProducts out;
    for (int p = 0; p < 8; ++p) {
      const int n = column_of(p);
      if (n >= columns.count()) continue;
      out.scales_[p] = columns.scales()[n] * Row::kUnit;
      out.offsets_[p] = Row::kOffset * columns.high_sum(n);
      out.offsets_[8 + p] =
          Row::kOffset * columns.low_sum(n) + Row::kLowOffset * columns.high_sum(n);
    }
    return out;
  }
  // `sums`: those of the high parts of the eight products, then those of the low parts.
  [[gnu::always_inline]] __m256 finish(__m512i sums, __m256 row_scales) const {
    const __m512 parts = _mm512_cvtepi32_ps(_mm512_sub_epi32(sums, _mm512_load_si512(offsets_)));
    const __m256 both = _mm256_fmadd_ps(_mm512_castps512_ps256(parts), _mm256_set1_ps(128.0f),
                                        _mm512_extractf32x8_ps(parts, 1));
    return _mm256_mul_ps(both, _mm256_mul_ps(_mm256_load_ps(scales_), row_scales));
  }

 private:
  alignas(64) std::int32_t offsets_[16] = {};
  alignas(32) float scales_[8] = {};
};

// Stores the products of `count` rows, up to kRows, to out[column * ldo + row]. `fours` is
// [four columns][row].
template <int kWide, int kRows>
[[gnu::always_inline]] inline void store_columns(__m128 (&fours)[kWide][kRows], std::int64_t count,
                                                 std::int64_t columns, float* out,
                                                 std::int64_t ldo) {
  unroll<kWide * kRows / 4>([&](auto i) __attribute__((always_inline)) {
    constexpr int kFirst = i / kWide * 4;
    __m128* const of = fours[i % kWide] + kFirst;
    _MM_TRANSPOSE4_PS(of[0], of[1], of[2], of[3]);
    const std::int64_t left = count - kFirst;
    const auto some = static_cast<__mmask8>(left >= 4 ? 15 : left <= 0 ? 0 : (1 << left) - 1);
    for (int n = 0; n < 4; ++n)
      if (const int column = i % kWide * 4 + n; column < columns)
        _mm_mask_storeu_ps(out + column * ldo + kFirst, some, of[n]);
  });
}

}  // namespace anemone::kernels::simd::int8_split
