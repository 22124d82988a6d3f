// SPDX-License-Identifier: Apache-2.0
// Palettes of 64 and 256 entries as tables of int8 parts, in which indices find them.
// Included by int8_palettes_rows.h alone, which names the instruction set.
#pragma once

#include <cstdint>
#include <immintrin.h>

#include "kernels/simd/int8_split_vectors.h"

namespace anemone::kernels::simd::int8_split {
namespace ANEMONE_PALETTES_NAMESPACE {

#if defined(ANEMONE_PALETTES_VBMI)

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

// The parts of kEntries entries, as RowBlock::table() has them. make_signed() takes away what makes
// them positive.
template <int kEntries>
class Table;

template <>
class Table<64> {
 public:
  explicit Table(const std::uint8_t* table)
      : high_(_mm512_load_si512(table)), low_(_mm512_load_si512(table + 64)) {}
  void make_signed() {
    high_ = flip(high_);
    low_ = signed_low(low_);
  }
  void find(__m512i index, __m512i& high, __m512i& low) const {
    high = _mm512_permutexvar_epi8(index, high_);
    low = _mm512_permutexvar_epi8(index, low_);
  }

 private:
  __m512i high_;
  __m512i low_;
};

// Two tables of two registers each, between which the top bit of an index chooses.
template <>
class Table<256> {
 public:
  explicit Table(const std::uint8_t* table) {
    for (int i = 0; i < 4; ++i) {
      high_[i] = _mm512_load_si512(table + 64 * i);
      low_[i] = _mm512_load_si512(table + 256 + 64 * i);
    }
  }
  void make_signed() {
    for (int i = 0; i < 4; ++i) {
      high_[i] = flip(high_[i]);
      low_[i] = signed_low(low_[i]);
    }
  }
  void find(__m512i index, __m512i& high, __m512i& low) const {
    const __mmask64 is_upper = _mm512_movepi8_mask(index);
    high = find_in(high_, index, is_upper);
    low = find_in(low_, index, is_upper);
  }

 private:
  static __m512i find_in(const __m512i parts[4], __m512i index, __mmask64 is_upper) {
    return _mm512_mask_blend_epi8(is_upper, _mm512_permutex2var_epi8(parts[0], index, parts[1]),
                                  _mm512_permutex2var_epi8(parts[2], index, parts[3]));
  }
  __m512i high_[4];
  __m512i low_[4];
};

#else

// 48 bytes as 64 indices of six bits. Four indices are three bytes a, b, c, which become the words
// ab and bc: each has one index from bit 0 or 4 on, and the next one six bits above it.
inline __m512i spread_six_bits(__m512i packed) {
  const __m512i lanes = _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11), packed);
  return _mm512_shuffle_epi8(lanes, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 3, 4, 4, 5, 6,
                                                                         7, 7, 8, 9, 10, 10, 11)));
}

// The parts of kEntries entries, as RowBlock::table() has them. make_signed() takes away what makes
// them positive.
//
// The instruction looks words up: a word of the table is the high part of an entry and above it the
// low one. It finds the words of 32 indices, those of the even elements or those of the odd ones.
template <int kEntries>
class Table {
 public:
  explicit Table(const std::uint8_t* table) {
    for (int i = 0; i < kRegisters; ++i)
      words_[i] = _mm512_or_si512(load(table + 32 * i),
                                  _mm512_slli_epi16(load(table + kEntries + 32 * i), 8));
  }
  void make_signed() {
    for (__m512i& words : words_)
      words = _mm512_sub_epi8(_mm512_xor_si512(words, _mm512_set1_epi16(0x80)),
                              _mm512_set1_epi16(64 << 8));
  }
  // `indices`: of spread_six_bits(), or for 256 entries one per byte.
  [[gnu::always_inline]] void find(__m512i indices, __m512i& high, __m512i& low) const {
    __m512i even;
    __m512i odd;
    if constexpr (kEntries == 64) {
      even = find_in_64(0, _mm512_srlv_epi16(indices, _mm512_set1_epi32(4 << 16)));
      odd = find_in_64(0, _mm512_srlv_epi16(indices, _mm512_set1_epi32(10 << 16 | 6)));
    } else {
      even = find_in_256(indices);
      odd = find_in_256(_mm512_srli_epi16(indices, 8));
    }
    constexpr __mmask64 kEven = 0x5555555555555555;
    high = _mm512_mask_blend_epi8(kEven, _mm512_slli_epi16(odd, 8), even);
    low = _mm512_mask_blend_epi8(kEven, odd, _mm512_srli_epi16(even, 8));
  }

 private:
  static constexpr int kRegisters = kEntries / 32;
  static __m512i load(const std::uint8_t* at) {
    return _mm512_cvtepu8_epi16(_mm256_load_si256(reinterpret_cast<const __m256i*>(at)));
  }
  // The words of the lowest six bits of each index.
  __m512i find_in_64(int first, __m512i index) const {
    return _mm512_permutex2var_epi16(words_[first], index, words_[first + 1]);
  }
  // Bits 6 and 7 of an index choose between the words of four tables.
  __m512i find_in_256(__m512i index) const {
    const __mmask32 is_odd = _mm512_test_epi16_mask(index, _mm512_set1_epi16(0x40));
    const __mmask32 is_upper = _mm512_test_epi16_mask(index, _mm512_set1_epi16(0x80));
    return _mm512_mask_blend_epi16(
        is_upper, _mm512_mask_blend_epi16(is_odd, find_in_64(0, index), find_in_64(2, index)),
        _mm512_mask_blend_epi16(is_odd, find_in_64(4, index), find_in_64(6, index)));
  }

  __m512i words_[kRegisters];
};

#endif

}  // namespace ANEMONE_PALETTES_NAMESPACE
}  // namespace anemone::kernels::simd::int8_split
