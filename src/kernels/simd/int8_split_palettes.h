// SPDX-License-Identifier: Apache-2.0
// The parts of palettes in registers, where the bytes of indices find them. Included by the files
// of parts only, which are compiled for AVX-512 with VNNI and VBMI.
#pragma once

#include <cstdint>
#include <immintrin.h>

namespace anemone::kernels::simd::int8_split {

// 48 bytes as 64 indices of six bits, one per byte; the upper two bits of these mean nothing. Eight
// indices are six bytes, which go to the eight bytes of a lane, each shifted into its own.
inline __m512i spread_six_bits(__m512i packed) {
  alignas(64) static constexpr std::int8_t kSixes[64] = {
      0,  1,  2,  3,  4,  5,  6,  7,  6,  7,  8,  9,  10, 11, 12, 13, 12, 13, 14, 15, 16, 17,
      18, 19, 18, 19, 20, 21, 22, 23, 24, 25, 24, 25, 26, 27, 28, 29, 30, 31, 30, 31, 32, 33,
      34, 35, 36, 37, 36, 37, 38, 39, 40, 41, 42, 43, 42, 43, 44, 45, 46, 47, 48, 49};
  const __m512i shifts = _mm512_set1_epi64(0x2a241e18120c0600);  // 0, 6, 12, ... 42
  return _mm512_multishift_epi64_epi8(shifts,
                                      _mm512_permutexvar_epi8(_mm512_load_si512(kSixes), packed));
}

// The parts of a palette of at most 64 entries, as RowBlock::table() has them.
struct Table64 {
  explicit Table64(const std::int8_t* table)
      : high(_mm512_load_si512(table)), low(_mm512_load_si512(table + 64)) {}
  __m512i high;
  __m512i low;
};

// The parts of a palette of 256 entries: two tables of two registers each, between which the top
// bit of an index chooses.
struct Table256 {
  explicit Table256(const std::int8_t* table) {
    for (int i = 0; i < 4; ++i) {
      high[i] = _mm512_load_si512(table + 64 * i);
      low[i] = _mm512_load_si512(table + 256 + 64 * i);
    }
  }
  static __m512i find(const __m512i parts[4], __m512i index, __mmask64 is_upper) {
    return _mm512_mask_blend_epi8(is_upper, _mm512_permutex2var_epi8(parts[0], index, parts[1]),
                                  _mm512_permutex2var_epi8(parts[2], index, parts[3]));
  }
  __m512i high[4];
  __m512i low[4];
};

}  // namespace anemone::kernels::simd::int8_split
