// SPDX-License-Identifier: Apache-2.0
// Numbers as two digits of 8 bits: q = 128 * high + low with low in [-64, 63]. Included by the AMX
// files only, which are compiled for its instructions.
#pragma once

#include <cstdint>
#include <immintrin.h>

#include "tensor/half.h"

namespace anemone::kernels::simd::amx {

inline constexpr std::int64_t kTileBytes = 1024;  // 16 rows of 64 bytes

struct Digits16 {
  __m512i high;  // sixteen integers
  __m512i low;
};

// Of numbers rounded to integers.
inline Digits16 split(__m512 x) {
  const __m512i q = _mm512_cvtps_epi32(x);
  const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(64)), 7);
  return {high, _mm512_sub_epi32(q, _mm512_slli_epi32(high, 7))};
}

inline __m512 load_sixteen(const Half* x) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}
// The first `count` of sixteen, zeros behind them.
inline __m512 load_some(const Half* x, std::int64_t count) {
  const auto mask = static_cast<__mmask16>(count >= 16 ? 0xffff : (1u << count) - 1);
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, x));
}

}  // namespace anemone::kernels::simd::amx
