// SPDX-License-Identifier: Apache-2.0
// Palettes of 64 and 256 entries as tables of int8 parts, in which the bytes of indices find them.
// Included by int8_palettes_rows.h alone, which names the instruction set.
#pragma once

#include <cstdint>
#include <immintrin.h>

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

// The parts of kEntries entries, as RowBlock::table() has them, with `flip` (128 or 0) added to
// each, which makes them unsigned.
template <int kEntries>
class Table;

template <>
class Table<64> {
 public:
  Table(const std::int8_t* table, int flip)
      : high_(_mm512_xor_si512(_mm512_load_si512(table), bytes(flip))),
        low_(_mm512_xor_si512(_mm512_load_si512(table + 64), bytes(flip))) {}
  void find(__m512i index, __m512i& high, __m512i& low) const {
    high = _mm512_permutexvar_epi8(index, high_);
    low = _mm512_permutexvar_epi8(index, low_);
  }

 private:
  static __m512i bytes(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }
  __m512i high_;
  __m512i low_;
};

// Two tables of two registers each, between which the top bit of an index chooses.
template <>
class Table<256> {
 public:
  Table(const std::int8_t* table, int flip) {
    const __m512i bytes = _mm512_set1_epi8(static_cast<char>(flip));
    for (int i = 0; i < 4; ++i) {
      high_[i] = _mm512_xor_si512(_mm512_load_si512(table + 64 * i), bytes);
      low_[i] = _mm512_xor_si512(_mm512_load_si512(table + 256 + 64 * i), bytes);
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

// 48 bytes as 64 indices of six bits, one per byte. Four indices are three bytes a, b, c, which
// become the words ab and bc, where each index is shifted into a byte of its own.
inline __m512i spread_six_bits(__m512i packed) {
  const __m512i lanes = _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11), packed);
  const __m512i words = _mm512_shuffle_epi8(
      lanes,
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11)));
  constexpr __mmask32 kFirstWords = 0x55555555;
  const __m512i even = _mm512_srlv_epi16(words, _mm512_set1_epi32(4 << 16));
  const __m512i odd = _mm512_mask_slli_epi16(_mm512_srli_epi16(words, 2), kFirstWords, words, 2);
  return _mm512_or_si512(_mm512_and_si512(even, _mm512_set1_epi16(0x003f)),
                         _mm512_and_si512(odd, _mm512_set1_epi16(0x3f00)));
}

// The parts of kEntries entries, as RowBlock::table() has them, with `flip` (128 or 0) added to
// each, which makes them unsigned.
//
// The instruction looks bytes up in sixteen entries, and gives zero for a negative one. Each
// sixteen holds how its entries differ from those of the sixteen before it. An index less 16 * t is
// negative for the sixteens t after its own, so all up to its own add up to its entry. Indices
// from 128 on are negative themselves; they begin anew with a half of their own.
template <int kEntries>
class Table {
 public:
  Table(const std::int8_t* table, int flip) {
    for (int at = 0; at < 2 * kEntries; at += 16) {
      const bool begins = at % kHalf == 0;
      const __m128i before =
          begins ? _mm_set1_epi8(static_cast<char>(flip)) : load(table + at - 16);
      _mm_store_si128(reinterpret_cast<__m128i*>(differences_ + at),
                      _mm_xor_si128(load(table + at), before));
    }
  }
  [[gnu::always_inline]] void find(__m512i index, __m512i& high, __m512i& low) const {
    high = _mm512_setzero_si512();
    low = _mm512_setzero_si512();
    for (int half = 0; half < kEntries; half += kHalf) {
      const __m512i within = half == 0 ? index : _mm512_xor_si512(index, _mm512_set1_epi8(-128));
#pragma GCC unroll 8
      for (int t = 0; t < kHalf; t += 16) {
        const __m512i place = _mm512_subs_epi8(within, _mm512_set1_epi8(static_cast<char>(t)));
        high = _mm512_xor_si512(high, _mm512_shuffle_epi8(sixteen(half + t), place));
        low = _mm512_xor_si512(low, _mm512_shuffle_epi8(sixteen(kEntries + half + t), place));
      }
    }
  }

 private:
  static constexpr int kHalf = kEntries < 128 ? kEntries : 128;
  static __m128i load(const std::int8_t* at) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(at));
  }
  __m512i sixteen(int at) const {
    return _mm512_broadcast_i32x4(load(differences_ + at));
  }

  alignas(64) std::int8_t differences_[2 * kEntries];  // high parts, then low ones
};

#endif

}  // namespace ANEMONE_PALETTES_NAMESPACE
}  // namespace anemone::kernels::simd::int8_split
