// SPDX-License-Identifier: Apache-2.0
// Palettes over the vectors of one instruction set: their entries as floats, found by indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// A palette of 16 in registers.
struct Palette16 {
#if defined(ANEMONE_SIMD_AVX512)
  explicit Palette16(const Half* entries) : table(load_halves(entries)) {}
  // The entries that the low four bits of each index choose.
  Floats find(Ints index) const {
    return (Floats)_mm512_permutexvar_ps((__m512i)index, (__m512)table);
  }
  Floats table;
#elif defined(ANEMONE_SIMD_AVX2)
  explicit Palette16(const Half* entries)
      : low(load_halves(entries)), high(load_halves(entries + 8)) {}
  Floats find(Ints index) const {
    const __m256 a = _mm256_permutevar8x32_ps((__m256)low, (__m256i)index);
    const __m256 b = _mm256_permutevar8x32_ps((__m256)high, (__m256i)index);
    return (Floats)_mm256_blendv_ps(a, b,
                                    _mm256_castsi256_ps(_mm256_slli_epi32((__m256i)index, 28)));
  }
  Floats low, high;
#else
  explicit Palette16(const Half* entries) {
    for (int i = 0; i < 16; ++i) table[i] = to_float(entries[i]);
  }
  Floats find(Ints index) const {
    Floats v{};
    for (int i = 0; i < kWidth; ++i) v[i] = table[index[i] & 15];
    return v;
  }
  float table[16];
#endif
};

#if defined(ANEMONE_SIMD_AVX512)

// Thirty-two entries of fp16 as two vectors.
inline void widen(__m512i halves, Floats out[2]) {
  out[0] = (Floats)_mm512_cvtph_ps(_mm512_castsi512_si256(halves));
  out[1] = (Floats)_mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1));
}

// A palette of 64 in registers.
struct Palette64 {
  static constexpr int kVectors = 2;
  explicit Palette64(const Half* entries)
      : low(_mm512_loadu_si512(entries)), high(_mm512_loadu_si512(entries + 32)) {}
  // The entries that kVectors * kWidth indices of six bits choose.
  void find(const std::byte* indices, Floats out[kVectors]) const {
    // Eight indices are six bytes and go to a lane of 16 bytes, from its first or its third on.
    // Two loads, since the processor does not fetch ahead of a masked one.
    const auto load = [&](int at) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(indices + at));
    };
    const __m512i lanes =
        _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 0, 0, 1, 2, 0, 0, 3, 6, 0, 0, 6, 7, 0, 0),
                                 _mm512_castsi256_si512(_mm256_setr_m128i(load(0), load(8))));
    // Two bytes that hold an index, and by how much it is shifted.
    const __m128i from_first = _mm_setr_epi8(0, 1, 0, 1, 1, 2, 2, 3, 3, 4, 3, 4, 4, 5, 5, 6);
    const __m256i places =
        _mm256_setr_m128i(from_first, _mm_add_epi8(from_first, _mm_set1_epi8(2)));
    const __m512i words =
        _mm512_srlv_epi16(_mm512_shuffle_epi8(lanes, _mm512_broadcast_i64x4(places)),
                          _mm512_broadcast_i32x4(_mm_setr_epi16(0, 6, 4, 2, 0, 6, 4, 2)));
    // The instruction takes the low six bits of each.
    widen(_mm512_permutex2var_epi16(low, words, high), out);
  }
  __m512i low, high;
};

// A palette of 256: four tables of 64, between which the upper two bits of an index choose.
struct Palette256 {
  static constexpr int kVectors = 2;
  explicit Palette256(const Half* entries) {
    for (int i = 0; i < 8; ++i) tables[i] = _mm512_loadu_si512(entries + 32 * i);
  }
  // The entries that kVectors * kWidth indices of eight bits choose.
  void find(const std::byte* indices, Floats out[kVectors]) const {
    const __m512i words =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(indices)));
    const __mmask32 is_odd = _mm512_test_epi16_mask(words, _mm512_set1_epi16(0x40));
    const __mmask32 is_upper = _mm512_test_epi16_mask(words, _mm512_set1_epi16(0x80));
    const auto of_two = [&](int t) {
      return _mm512_mask_blend_epi16(
          is_odd, _mm512_permutex2var_epi16(tables[t], words, tables[t + 1]),
          _mm512_permutex2var_epi16(tables[t + 2], words, tables[t + 3]));
    };
    widen(_mm512_mask_blend_epi16(is_upper, of_two(0), of_two(4)), out);
  }
  __m512i tables[8];
};

#else

template <typename T>
inline std::uint64_t load_integer(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// A palette of 64 or 256 in memory, for indices of kBits.
template <int kBits>
struct PaletteInMemory {
  static constexpr int kVectors = 1;
  explicit PaletteInMemory(const Half* entries) {
    for (int i = 0; i < kEntries; i += kWidth) store(table + i, load_halves(entries + i));
  }
  // The entries that kVectors * kWidth indices choose.
  void find(const std::byte* indices, Floats out[kVectors]) const {
    const std::uint64_t packed = load(indices);
    out[0] = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      return Floats{table[packed >> (kBits * kIndex) & (kEntries - 1)]...};
    }
    (std::make_index_sequence<kWidth>());
  }

 private:
  static constexpr int kEntries = 1 << kBits;
  // The bytes of kWidth indices. In whole registers, since a load of a few bytes that were stored
  // one by one waits for the stores.
  static std::uint64_t load(const std::byte* at) {
    constexpr int kBytes = kWidth * kBits / 8;
    static_assert(kBytes == 3 || kBytes == 4 || kBytes == 6 || kBytes == 8);
    if constexpr (kBytes == 8) return load_integer<std::uint64_t>(at);
    if constexpr (kBytes == 4) return load_integer<std::uint32_t>(at);
    if constexpr (kBytes == 6)
      return load_integer<std::uint32_t>(at) | load_integer<std::uint16_t>(at + 4) << 32;
    return load_integer<std::uint16_t>(at) | load_integer<std::uint8_t>(at + 2) << 16;
  }
  float table[kEntries];
};
using Palette256 = PaletteInMemory<8>;

#if defined(ANEMONE_SIMD_AVX2)
// A palette of 64 in registers: the low bytes of its entries and the high ones, in tables of
// sixteen.
struct Palette64 {
  static constexpr int kVectors = 4;
  explicit Palette64(const Half* entries) {
    const __m128i byte = _mm_set1_epi16(0xff);
    __m128i last[2] = {_mm_setzero_si128(), _mm_setzero_si128()};
    for (int t = 0; t < kTables; ++t) {
      const auto* at = reinterpret_cast<const __m128i*>(entries + 16 * t);
      const __m128i a = _mm_loadu_si128(at);
      const __m128i b = _mm_loadu_si128(at + 1);
      const __m128i bytes[2] = {_mm_packus_epi16(_mm_and_si128(a, byte), _mm_and_si128(b, byte)),
                                _mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8))};
      for (int i = 0; i < 2; ++i) {
        tables[t][i] = _mm256_broadcastsi128_si256(_mm_xor_si128(bytes[i], last[i]));
        last[i] = bytes[i];
      }
    }
  }
  // The entries that kVectors * kWidth indices of six bits choose.
  void find(const std::byte* indices, Floats out[kVectors]) const {
    const __m256i index = spread(indices);
    __m256i low = _mm256_shuffle_epi8(tables[0][0], index);
    __m256i high = _mm256_shuffle_epi8(tables[0][1], index);
    // A table holds what differs from the one before it. It gives zeros where the index is below
    // its first, which leaves a negative place, and so all tables up to that of the index add up.
    for (int t = 1; t < kTables; ++t) {
      const __m256i place = _mm256_sub_epi8(index, _mm256_set1_epi8(static_cast<char>(16 * t)));
      low = _mm256_xor_si256(low, _mm256_shuffle_epi8(tables[t][0], place));
      high = _mm256_xor_si256(high, _mm256_shuffle_epi8(tables[t][1], place));
    }
    const __m256i first = _mm256_unpacklo_epi8(low, high);
    const __m256i second = _mm256_unpackhi_epi8(low, high);
    out[0] = (Floats)_mm256_cvtph_ps(_mm256_castsi256_si128(first));
    out[1] = (Floats)_mm256_cvtph_ps(_mm256_castsi256_si128(second));
    out[2] = (Floats)_mm256_cvtph_ps(_mm256_extracti128_si256(first, 1));
    out[3] = (Floats)_mm256_cvtph_ps(_mm256_extracti128_si256(second, 1));
  }

 private:
  static constexpr int kTables = 4;
  // 24 bytes as 32 indices.
  static __m256i spread(const std::byte* indices) {
    // Four indices are three bytes a, b, c, which become a, b, b, c.
    const __m128i places = _mm_setr_epi8(0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11);
    const __m256i packed =
        _mm256_setr_m128i(_mm_loadu_si128(reinterpret_cast<const __m128i*>(indices)),
                          _mm_loadu_si128(reinterpret_cast<const __m128i*>(indices + 8)));
    const __m256i words = _mm256_shuffle_epi8(
        packed, _mm256_setr_m128i(places, _mm_add_epi8(places, _mm_set1_epi8(4))));
    const __m256i even = _mm256_blend_epi16(words, _mm256_srli_epi16(words, 4), 0xaa);
    const __m256i odd =
        _mm256_blend_epi16(_mm256_slli_epi16(words, 2), _mm256_srli_epi16(words, 2), 0xaa);
    return _mm256_or_si256(_mm256_and_si256(even, _mm256_set1_epi16(0x3f)),
                           _mm256_and_si256(odd, _mm256_set1_epi16(0x3f00)));
  }
  __m256i tables[kTables][2];
};
#else
using Palette64 = PaletteInMemory<6>;
#endif

#endif

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
