// SPDX-License-Identifier: Apache-2.0
// Products with up to eight columns: the lanes of a vector are columns. An instruction multiplies
// four elements of a row and adds the products up. A shuffle copies the four elements to the lanes,
// which is cheaper than a load that does so. Each quarter of a vector works on another part of the
// depth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <immintrin.h>
#include <type_traits>
#include <utility>

#include "kernels/simd/int8_gemv.h"
#include "kernels/simd/int8_gemv_eight.h"
#include "kernels/simd/int8_gemv_rows.h"
#include "kernels/simd/unroll.h"

namespace anemone::kernels::simd::int8_split {

// The sums of the quarters of each of four vectors, one vector after the other.
[[gnu::always_inline]] inline __m512i sum_quarters(__m512i a, __m512i b, __m512i c, __m512i d) {
  const auto halve = [](__m512i x, __m512i y) {
    return _mm512_add_epi32(_mm512_shuffle_i64x2(x, y, 0x44), _mm512_shuffle_i64x2(x, y, 0xee));
  };
  const __m512i ab = halve(a, b);
  const __m512i cd = halve(c, d);
  return _mm512_add_epi32(_mm512_shuffle_i64x2(ab, cd, 0x88), _mm512_shuffle_i64x2(ab, cd, 0xdd));
}

// Multiplies kRows rows by kPlaces columns (GemvColumns::places(): 4 or 8, zeros after the last
// column). A vector holds the high or the low parts of four columns.
template <typename Row, int kPlaces>
class WideProducts {
  static constexpr int kHigh = kPlaces / 4;  // vectors of high parts, then as many of low ones
  static constexpr int kVectors = 2 * kHigh;
  // Products with the low parts of weights are added to accumulators of their own, because an
  // instruction waits for the one before it that adds to the same accumulator.
  static constexpr int kSums = Row::kHasLow ? kVectors + kHigh : kVectors;

 public:
  // Rows at a time: as many as the registers have room for sums and parts.
  static constexpr int kRows = (Row::kHasLow || Row::kHasBlockSums ? 8 : 16) / kVectors;

  WideProducts(const Matrix& m, const GemvColumns& columns)
      : ahead_(m.row_bytes(), m.k),
        columns_(columns),
        products_(EightProducts::of<Row>(columns, [](int p) { return p % kPlaces; })) {}

  // out[n * ldo + r] for `count` rows from `first` on.
  template <typename Rows>
  [[gnu::flatten]] void multiply(const Rows& rows, std::int64_t first, std::int64_t count,
                                 std::int64_t depth, const float* row_scales, float* out,
                                 std::int64_t ldo) const {
    const Sums sums = sum(rows, first, count, depth, std::make_index_sequence<kRows>());
    finish(sums, count, row_scales, out, ldo);
  }

 private:
  struct Sums {
    __m512i of[kRows][kSums];
  };
  using Ahead = AheadOfRows<Row, kRows>;

  template <typename Rows, std::size_t... kIndex>
  Sums sum(const Rows& rows, std::int64_t first, std::int64_t count, std::int64_t depth,
           std::index_sequence<kIndex...> /*rows*/) const {
    // Rows after the last one repeat it.
    const Row group[kRows] = {rows.at(first + (int{kIndex} < count ? int{kIndex} : count - 1))...};
    Sums sums;
    unroll<kRows>(
        [&](auto r) { unroll<kSums>([&](auto v) { sums.of[r][v] = _mm512_setzero_si512(); }); });
    Ahead ahead = ahead_;
    for_each_read<Row::kSteps>(
        0, depth, [&](std::int64_t step, __mmask64 mask) __attribute__((always_inline)) {
          add(group, step, mask, ahead.next(), sums);
        });
    return sums;
  }

  [[gnu::always_inline]] void add(const Row* rows, std::int64_t step, __mmask64 mask,
                                  typename Ahead::Distances ahead, Sums& sums) const {
    if constexpr (Row::kHasBlockSums)
      add_scale_blocks(rows, step, mask, ahead, sums);
    else
      add_steps(rows, step, mask, ahead, sums);
  }

  // Adds the products of integers in scale blocks: each quarter of a vector has the sum of one
  // scale block, or of a part of it.
  [[gnu::always_inline]] void add_scale_blocks(const Row* rows, std::int64_t step, __mmask64 mask,
                                               typename Ahead::Distances ahead, Sums& sums) const {
    const std::int32_t* const offsets =
        columns_.block_offsets() + step / Row::kSteps * kVectors * 16;
    Sums block_sums;
    unroll<kRows>([&](auto r) {
      unroll<kVectors>([&](auto v) { block_sums.of[r][v] = _mm512_load_si512(offsets + v * 16); });
    });
    add_steps(rows, step, mask, ahead, block_sums);
    unroll<kRows>([&](auto r) {
      const auto factors = rows[r].factors(step);
      if constexpr (std::is_same_v<Row, Int4BlockSumsRow>)
        unroll<kVectors>([&](auto v) {
          // The sum of a scale block is within 15 bits: its lower half counts.
          sums.of[r][v] = _mm512_dpwssd_epi32(sums.of[r][v], block_sums.of[r][v], factors);
        });
      else
        unroll<kHigh>([&](auto v) {
          const __m512i both = join_parts(block_sums.of[r][v], block_sums.of[r][kHigh + v]);
          __m512i& sum = sums.of[r][kHigh + v];
          sum = _mm512_add_epi32(sum, steps_of_sums(both, factors));
        });
    });
  }

  [[gnu::always_inline]] void add_steps(const Row* rows, std::int64_t step, __mmask64 mask,
                                        typename Ahead::Distances ahead, Sums& sums) const {
    unroll<Row::kSteps>([&](auto s) __attribute__((always_inline)) {
      const std::int8_t* const parts = columns_.parts() + (step + s) * kPlaces * 2 * kStep;
      __m512i high[kRows];
      __m512i low[kRows];
      unroll<kRows>([&](auto r) {
        if constexpr (s == 0) prefetch_read(rows[r], ahead.far, ahead.near);
        // Each step reads the row again: there are not enough registers to keep the bytes of all
        // rows.
        rows[r].template split<s>(rows[r].read(step, mask), high[r], low[r]);
      });
      unroll<4>([&](auto i) __attribute__((always_inline)) {
        constexpr auto kFour = static_cast<_MM_PERM_ENUM>(0x55 * i);
        __m512i x[kVectors];
        unroll<kVectors>(
            [&](auto v) { x[v] = _mm512_load_si512(parts + (i * kVectors + v) * kStep); });
        unroll<kRows>([&](auto r) {
          const __m512i four = _mm512_shuffle_epi32(high[r], kFour);
          unroll<kVectors>(
              [&](auto v) { sums.of[r][v] = _mm512_dpbusd_epi32(sums.of[r][v], four, x[v]); });
          if constexpr (Row::kHasLow) {
            const __m512i low_four = _mm512_shuffle_epi32(low[r], kFour);
            unroll<kHigh>([&](auto v) {
              __m512i& sum = sums.of[r][kVectors + v];
              sum = _mm512_dpbusd_epi32(sum, low_four, x[v]);
            });
          }
        });
      });
    });
  }

  void finish(const Sums& sums, std::int64_t count, const float* row_scales, float* out,
              std::int64_t ldo) const {
    // With kPlaces = 4, two rows are stored together.
    constexpr int kTogether = 8 / kPlaces;
    constexpr int kFours = kRows < 4 ? 1 : kRows / 4;
    __m128 fours[kHigh][4 * kFours] = {};  // [four columns][row]
    unroll<kRows / kTogether>([&](auto group) __attribute__((always_inline)) {
      constexpr int kFirst = kTogether * group;
      constexpr int kLast = kFirst + kTogether - 1;
      const auto low = [&](int r, int v) __attribute__((always_inline)) {
        const __m512i sum = sums.of[r][kHigh + v];
        return Row::kHasLow ? _mm512_add_epi32(sum, sums.of[r][kSums - kHigh + v]) : sum;
      };
      const __m512i all = sum_quarters(sums.of[kFirst][0], sums.of[kLast][kHigh - 1],
                                       low(kFirst, 0), low(kLast, kHigh - 1));
      const auto scale_of = [&](int r) { return _mm_set1_ps(r < count ? row_scales[r] : 0); };
      const __m256 eight =
          products_.finish(all, _mm256_set_m128(scale_of(kLast), scale_of(kFirst)));
      fours[0][kFirst] = _mm256_castps256_ps128(eight);
      fours[kHigh - 1][kLast] = _mm256_extractf128_ps(eight, 1);
    });
    store_columns(fours, count, columns_.count(), out, ldo);
  }

  const Ahead ahead_;  // of a first group
  const GemvColumns& columns_;
  const EightProducts products_;
};

}  // namespace anemone::kernels::simd::int8_split
