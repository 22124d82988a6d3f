// SPDX-License-Identifier: Apache-2.0
// Numbers as two int8 parts: q = 128 * high + low with low in [-64, 63]. Included by the
// files of parts only, which are compiled for AVX-512 with VNNI.
#pragma once

#include <cstdint>
#include <cstring>
#include <immintrin.h>

#include "tensor/half.h"

namespace anemone::kernels::simd::int8_split {

inline constexpr std::int64_t kTileBytes = 1024;  // 16 rows of 64 bytes

// Sums of products, one per lane of 32 bits. As an __m512i, which is of another type than what the
// instruction has, GCC 12 copies such sums to another register and back for each instruction.
class ProductSums {
 public:
  // Adds the products of each lane's four bytes, of which those of `x` are unsigned.
  [[gnu::always_inline]] void add(__m512i x, __m512i w) {
    lanes_ = reinterpret_cast<Lanes>(_mm512_dpbusd_epi32(lanes(), x, w));
  }
  [[gnu::always_inline]] __m512i lanes() const { return reinterpret_cast<__m512i>(lanes_); }

 private:
  using Lanes = std::int32_t __attribute__((vector_size(64)));
  Lanes lanes_ = {};
};

inline __m512 load_sixteen(const Half* x) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}
// The first `count` of sixteen, zeros after them.
inline __m512 load_some(const Half* x, std::int64_t count) {
  const auto mask = static_cast<__mmask16>(count >= 16 ? 0xffff : (1u << count) - 1);
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, x));
}

// Adds 128 to signed bytes, which makes them unsigned, or takes it from unsigned ones.
inline __m512i flip(__m512i bytes) {
  return _mm512_xor_si512(bytes, _mm512_set1_epi8(-128));
}

// The low parts of PositiveParts with their sign. flip() gives the high ones.
inline __m512i signed_low(__m512i low) {
  return _mm512_sub_epi8(low, _mm512_set1_epi8(64));
}

// The parts of 64 integers as unsigned bytes: high + 128 and low + 64.
struct PositiveParts {
  static PositiveParts load(const std::uint8_t* from_high, const std::uint8_t* from_low) {
    PositiveParts parts;
    parts.high = _mm512_load_si512(from_high);
    parts.low = _mm512_load_si512(from_low);
    return parts;
  }
  // Four vectors of 32-bit integers, whose order is kept.
  PositiveParts(__m512i a, __m512i b, __m512i c, __m512i d)
      : PositiveParts(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d)) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    high = _mm512_permutexvar_epi32(order, high);
    low = _mm512_permutexvar_epi32(order, low);
  }
  // Two vectors of 16-bit integers. Each 128-bit lane of the result holds the eight integers of
  // that lane of `lower`, then the eight of `upper`.
  PositiveParts(__m512i lower, __m512i upper) {
    // Makes both parts positive: 64 rounds the high one and is the offset of the low one.
    const __m512i offset = _mm512_set1_epi16(128 * 128 + 64);
    const __m512i low_bits = _mm512_set1_epi16(127);
    lower = _mm512_add_epi16(lower, offset);
    upper = _mm512_add_epi16(upper, offset);
    high = _mm512_packus_epi16(_mm512_srli_epi16(lower, 7), _mm512_srli_epi16(upper, 7));
    low = _mm512_packus_epi16(_mm512_and_si512(lower, low_bits), _mm512_and_si512(upper, low_bits));
  }
  // The parts that the indices, at most 15, find in each 128-bit lane.
  PositiveParts find(__m512i indices) const {
    PositiveParts found = *this;
    found.high = _mm512_shuffle_epi8(high, indices);
    found.low = _mm512_shuffle_epi8(low, indices);
    return found;
  }
  void store_signed(std::int8_t* to_high, std::int8_t* to_low) const {
    _mm512_store_si512(to_high, flip(high));
    _mm512_store_si512(to_low, signed_low(low));
  }
  void store(std::uint8_t* to_high, std::uint8_t* to_low) const {
    _mm512_store_si512(to_high, high);
    _mm512_store_si512(to_low, low);
  }
  __m512i high;
  __m512i low;

 private:
  PositiveParts() = default;
};

// Each of four numbers repeated over a 128-bit lane.
inline __m512i spread_four(const std::int16_t* numbers) {
  std::int64_t four;
  std::memcpy(&four, numbers, sizeof(four));
  const __m512i by_quarter = _mm512_inserti64x4(
      _mm512_castsi256_si512(_mm256_setr_m128i(_mm_set1_epi16(0x0100), _mm_set1_epi16(0x0302))),
      _mm256_setr_m128i(_mm_set1_epi16(0x0504), _mm_set1_epi16(0x0706)), 1);
  return _mm512_shuffle_epi8(_mm512_set1_epi64(four), by_quarter);
}
// Each of two numbers repeated over a 256-bit half.
inline __m512i spread_two(const std::int16_t* numbers) {
  std::int32_t two;
  std::memcpy(&two, numbers, sizeof(two));
  const __m512i by_half =
      _mm512_inserti64x4(_mm512_set1_epi16(0x0100), _mm256_set1_epi16(0x0302), 1);
  return _mm512_shuffle_epi8(_mm512_set1_epi32(two), by_half);
}

// The parts of 64 integers of int8 times `multipliers`, as RowBlock::multipliers() has them,
// divided by 128 and rounded.
inline PositiveParts parts_of_bytes(__m512i bytes, __m512i multipliers) {
  // 256 times the integers: the instruction divides by 32768.
  const __m512i lower = _mm512_unpacklo_epi8(_mm512_setzero_si512(), bytes);
  const __m512i upper = _mm512_unpackhi_epi8(_mm512_setzero_si512(), bytes);
  return {_mm512_mulhrs_epi16(lower, multipliers), _mm512_mulhrs_epi16(upper, multipliers)};
}

// Sixteen halves multiplied by `inverse` and rounded.
inline __m512i integers_of(__m256i halves, __m512 inverse) {
  return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtph_ps(halves), inverse));
}

// The largest magnitude of these; NaN if one of them is. The bits of fp16 without the sign have its
// order.
inline float largest(const Half* values, std::int64_t count) {
  __m512i tops = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < count; i += 32) {
    const auto some = static_cast<__mmask32>(count - i >= 32 ? ~0u : (1u << (count - i)) - 1);
    tops = _mm512_max_epu16(tops, _mm512_and_si512(_mm512_maskz_loadu_epi16(some, values + i),
                                                   _mm512_set1_epi16(0x7fff)));
  }
  const __m256i half =
      _mm256_max_epu16(_mm512_castsi512_si256(tops), _mm512_extracti64x4_epi64(tops, 1));
  const __m128i quarter =
      _mm_max_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  // The processor has an instruction for the smallest of eight integers only.
  const __m128i ones = _mm_set1_epi16(-1);
  const __m128i top = _mm_xor_si128(_mm_minpos_epu16(_mm_xor_si128(quarter, ones)), ones);
  return _mm_cvtss_f32(_mm_cvtph_ps(top));
}

// The parts of those of 64 halves that `mask` has, multiplied by `inverse` and rounded.
inline PositiveParts parts_of_halves(const std::byte* halves, __mmask64 mask, __m512 inverse) {
  const __m512i first = _mm512_maskz_loadu_epi16(static_cast<__mmask32>(mask), halves);
  const __m512i second = _mm512_maskz_loadu_epi16(static_cast<__mmask32>(mask >> 32), halves + 64);
  return {integers_of(_mm512_castsi512_si256(first), inverse),
          integers_of(_mm512_extracti64x4_epi64(first, 1), inverse),
          integers_of(_mm512_castsi512_si256(second), inverse),
          integers_of(_mm512_extracti64x4_epi64(second, 1), inverse)};
}

// The parts of what four-bit integers stand for times `multipliers`, as a table per 128-bit lane:
// of int4 in scale blocks, 16 bytes hold 32 elements that share a scale. Each lane is full of its
// multiplier, with |8 * multiplier| <= 127 * 128.
inline PositiveParts nibble_tables(__m512i multipliers) {
  const __m512i upward = _mm512_broadcast_i32x4(_mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7));
  const __m512i negative = _mm512_broadcast_i32x4(_mm_setr_epi16(-8, -7, -6, -5, -4, -3, -2, -1));
  return {_mm512_mullo_epi16(multipliers, upward), _mm512_mullo_epi16(multipliers, negative)};
}

// 128 * high + low.
inline __m512i join_parts(__m512i high, __m512i low) {
  return _mm512_add_epi32(_mm512_slli_epi32(high, 7), low);
}
// Sums of scale blocks as numbers of steps: multiplied by the factors and rounded, whatever kernel
// it is.
inline __m512i steps_of_sums(__m512i sums, __m512 factors) {
  return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(sums), factors));
}

struct ColumnScale {
  float scale = 0;    // NaN if the column has an infinity or NaN
  float inverse = 0;  // 0: the parts are zeros
};

// Of `depth` elements side by side.
ColumnScale scale_column(const Half* x, std::int64_t depth);

// The parts of the first 64 of `left` elements of a column; zeros after the last one.
inline PositiveParts split_column(const Half* x, std::int64_t left, float inverse) {
  // 0 times an infinity is no integer.
  if (left <= 0 || inverse == 0) left = 0;
  const __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
  return parts_of_halves(reinterpret_cast<const std::byte*>(x), mask, _mm512_set1_ps(inverse));
}

}  // namespace anemone::kernels::simd::int8_split
