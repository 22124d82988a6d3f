// SPDX-License-Identifier: Apache-2.0
// Attention by tile products of bf16: how numbers become tiles.
//
// A number of fp16 is the sum of two of bf16, exactly: its first 8 bits, and the other 3. Queries
// times the factor and weights of the softmax, which are fp32, become the nearest number of bf16
// and what it leaves, less 2^-16 of it. A product of two numbers is low * high + high * high +
// high * low; that of both low parts, at most 2^-15 of it and as often above as below 0, is left
// out. Sums are fp32, in the order of the tile product: it adds up 32 products at a time.
//
// Of 32 dimensions or positions, number i lies beside number i + 16: so two vectors of floats
// become one of bf16 without being permuted.
#pragma once

#include "kernels/simd/attention_avx512.h"
#include "kernels/simd/kernels.h"
#include "kernels/simd/shuffles.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::amx {

// Positions whose keys and values are made tiles at a time, beginning at multiples of it.
constexpr std::int64_t kPositions = kAttendPositions;
constexpr std::int64_t kDeep = 32;         // numbers of bf16 in a row of a tile
constexpr std::int64_t kTile = 1024;       // bytes
constexpr std::int64_t kPair = 2 * kTile;  // both parts of a tile, the high one first
// Floats from one row of scores to the next. Rows of one tile lie in different sets of the cache.
constexpr std::int64_t kScoreStride = kPositions + 16;

// The left operand of a product: rows in which the low parts of kDeep numbers follow the high ones.
constexpr std::int64_t kRowPart = 64;  // bytes
constexpr std::int64_t kRowParts = 2 * kRowPart;
struct PartRows {
  std::byte* at = nullptr;
  std::int64_t stride = 0;  // bytes

  std::byte* row(std::int64_t r) const { return at + r * stride; }
};

// The right operand: tiles in pairs of both parts, and how many bytes a pair lies behind the one
// before it.
struct TilePairs {
  std::byte* at = nullptr;
  std::int64_t across = 0;  // by 16 columns of the product
  std::int64_t deep = 0;    // by kDeep of the numbers that are added up
};

// Stores of vectors are done before tiles are loaded, and the other way round: the intrinsics do
// not tell the compiler what memory they use.
inline void settle_memory() {
  asm volatile("" : : : "memory");
}

// Floats whose first 16 bits are those of the nearest number of bf16.
inline __m512i rounded(__m512i x) {
  return _mm512_add_epi32(x, _mm512_set1_epi32(0x8000));
}
inline __m512i first_bits(__m512i x) {
  return _mm512_and_si512(x, _mm512_set1_epi32(static_cast<int>(0xffff0000u)));
}
// What the first 16 bits leave: of a number of fp16, at most 3 bits.
inline __m512i rest_of(__m512i x) {
  return (__m512i)_mm512_sub_ps((__m512)x, (__m512)first_bits(x));
}
// What the nearest number of bf16 leaves.
inline __m512i rest_of_rounded(__m512i x) {
  return (__m512i)_mm512_sub_ps((__m512)x, (__m512)first_bits(rounded(x)));
}
// The first 16 bits of 16 floats and of 16 others, by turns.
inline __m512i interleave(__m512i first, __m512i second) {
  return _mm512_or_si512(_mm512_srli_epi32(first, 16), first_bits(second));
}
// Both parts of kDeep floats.
inline void store_parts(__m512i first, __m512i second, std::byte* to) {
  _mm512_store_si512(to, interleave(rounded(first), rounded(second)));
  _mm512_store_si512(to + kRowPart, interleave(rest_of_rounded(first), rest_of_rounded(second)));
}

// Some positions of a block, [first, last), and the whole ones of kDeep among which they are.
struct BlockRange {
  std::int64_t block = 0;  // the position that it begins at, a multiple of kPositions
  std::int64_t first = 0;
  std::int64_t last = 0;

  std::int64_t open() const { return first / kDeep * kDeep; }
  std::int64_t close() const { return round_up(last, kDeep); }
  bool has(std::int64_t s, std::int64_t positions) const {
    return s >= first && s + positions <= last;
  }
};

// kDeep dimensions of a position as two vectors of floats. Without kIsWhole, what lies outside of
// the range and of the head is 0.
struct FloatPair {
  __m512i first;
  __m512i second;
};
template <bool kIsWhole>
[[gnu::always_inline]] inline FloatPair load_position(const AttentionHead& head, const Half* rows,
                                                      const BlockRange& range, std::int64_t s,
                                                      std::int64_t d) {
  const Half* const from = rows + (range.block + s) * head.dim + d;
  __m512i x = _mm512_setzero_si512();
  if constexpr (kIsWhole)
    x = _mm512_loadu_si512(from);
  else if (s >= range.first && s < range.last)
    x = load_some(from, head.dim - d);
  return {(__m512i)_mm512_cvtph_ps(_mm512_castsi512_si256(x)),
          (__m512i)_mm512_cvtph_ps(_mm512_extracti64x4_epi64(x, 1))};
}

// Keys of positions [s, s + 16) as columns.
template <bool kIsWhole>
void pack_keys(const AttentionHead& head, const BlockRange& range, std::int64_t s,
               const TilePairs& to) {
  for (std::int64_t d = 0; d < head.dim; d += kDeep) {
    Floats high[16];
    Floats low[16];
    unroll<16>([&](auto i) __attribute__((always_inline)) {
      const FloatPair x = load_position<kIsWhole>(head, head.keys, range, s + i, d);
      high[i] = (Floats)interleave(x.first, x.second);
      low[i] = (Floats)interleave(rest_of(x.first), rest_of(x.second));
    });
    transpose(high);
    transpose(low);
    auto* const tile = reinterpret_cast<float*>(to.at + s / 16 * to.across + d / kDeep * to.deep);
    unroll<16>([&](auto i) __attribute__((always_inline)) {
      store(tile + i * 16, high[i]);
      store(tile + kTile / 4 + i * 16, low[i]);
    });
  }
}

inline void pack_keys(const AttentionHead& head, const BlockRange& range, std::int64_t s,
                      const TilePairs& to) {
  const bool is_whole = range.has(s, 16) && head.dim % kDeep == 0;
  (is_whole ? pack_keys<true> : pack_keys<false>)(head, range, s, to);
}

// Keys of positions [s, s + kDeep) as rows. Prefetches their values.
template <bool kIsWhole>
void pack_key_rows(const AttentionHead& head, const BlockRange& range, std::int64_t s,
                   const PartRows& to) {
  for (std::int64_t i = 0; i < kDeep; ++i) {
    if (kIsWhole || s + i < range.last)
      prefetch(head.values, (range.block + s + i) * head.dim, head.dim);
    for (std::int64_t d = 0; d < head.dim; d += kDeep) {
      const FloatPair x = load_position<kIsWhole>(head, head.keys, range, s + i, d);
      std::byte* const at = to.row(i) + d / kDeep * kRowParts;
      _mm512_store_si512(at, interleave(x.first, x.second));
      _mm512_store_si512(at + kRowPart, interleave(rest_of(x.first), rest_of(x.second)));
    }
  }
}

// Dimensions [begin, end), a multiple of kDeep many, of the values of positions [s, s + kDeep) as
// columns.
template <bool kIsWhole>
void pack_values(const AttentionHead& head, const BlockRange& range, std::int64_t s,
                 std::int64_t begin, std::int64_t end, std::byte* out) {
  for (std::int64_t i = 0; i < 16; ++i) {
    for (std::int64_t d = begin; d < end; d += kDeep) {
      const FloatPair x = load_position<kIsWhole>(head, head.values, range, s + i, d);
      const FloatPair y = load_position<kIsWhole>(head, head.values, range, s + i + 16, d);
      const auto put = [](__m512i a, __m512i b, std::byte * at) __attribute__((always_inline)) {
        _mm512_store_si512(at, interleave(a, b));
        _mm512_store_si512(at + kTile, interleave(rest_of(a), rest_of(b)));
      };
      std::byte* const tile = out + (d - begin) / 16 * kPair + i * 64;
      put(x.first, y.first, tile);
      put(x.second, y.second, tile + kPair);
    }
  }
}
inline void pack_values(const AttentionHead& head, const BlockRange& range, std::int64_t s,
                        std::int64_t begin, std::int64_t end, std::byte* out) {
  const bool is_whole = range.has(s, kDeep) && head.dim % kDeep == 0;
  (is_whole ? pack_values<true> : pack_values<false>)(head, range, s, begin, end, out);
}

// factor * query, for scores in powers of 2, as a row; nullptr is 0.
inline void pack_query(const AttentionHead& head, const Half* query, std::byte* row) {
  const __m512 factor = _mm512_set1_ps(head.factor * kLog2E);
  for (std::int64_t d = 0; d < head.dim; d += kDeep) {
    const __m512i x =
        query == nullptr ? _mm512_setzero_si512() : load_some(query + d, head.dim - d);
    const __m512 a = _mm512_mul_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(x)), factor);
    const __m512 b = _mm512_mul_ps(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(x, 1)), factor);
    store_parts((__m512i)a, (__m512i)b, row + d / kDeep * kRowParts);
  }
}

}  // namespace anemone::kernels::simd::amx
