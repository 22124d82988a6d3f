// SPDX-License-Identifier: Apache-2.0
// Products of int8 as it lies in memory with five to eight columns: the lanes of a vector are the
// high parts of the columns and then their low ones. An instruction multiplies them by four
// elements of a row, which it copies to the lanes itself: a shuffle would be one more instruction,
// and on a port of the multiplication.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

#include "kernels/simd/int8_gemv.h"
#include "kernels/simd/int8_gemv_eight.h"
#include "kernels/simd/int8_gemv_rows.h"
#include "kernels/simd/unroll.h"

namespace anemone::kernels::simd::int8_split {

// Adds the products of each lane's unsigned bytes with the four signed ones at `four`. In assembly,
// because GCC 12 copies them by an instruction of its own, and instructions are what is short here:
// a core decodes four per cycle.
[[gnu::always_inline]] inline void add_products(__m512i& sums, __m512i x, const std::byte* four) {
  struct [[gnu::packed, gnu::may_alias]] Four {
    std::byte bytes[4];
  };
  asm("vpdpbusd %2%{1to16%}, %1, %0"
      : "+v"(sums)
      : "v"(x), "m"(*reinterpret_cast<const Four*>(four)));
}

class LaneProducts {
 public:
  static constexpr int kRows = 8;

  LaneProducts(const Matrix& m, const GemvColumns& columns)
      : ahead_(m.row_bytes(), m.k),
        columns_(columns),
        products_(EightProducts::of<SignedBytes>(columns, [](int p) { return p; })) {}

  // out[n * ldo + r] for `count` rows from `first` on.
  template <typename Rows>
  [[gnu::flatten]] void multiply(const Rows& rows, std::int64_t first, std::int64_t count,
                                 std::int64_t depth, const float* row_scales, float* out,
                                 std::int64_t ldo) const {
    const std::byte* at[kRows];
    // Places after the last row repeat it.
    unroll<kRows>([&](auto r) { at[r] = rows.at(first + (r < count ? r : count - 1)).at; });
    Ahead ahead = ahead_;
    Sums sums = sum(at, depth / kStep, columns_.parts(), ahead, zero());
    if (const std::int64_t left = depth % kStep; left != 0) {
      alignas(64) std::byte last[kRows][kStep] = {};
      unroll<kRows>([&](auto r) {
        std::memcpy(last[r], at[r] + depth - left, static_cast<std::size_t>(left));
        at[r] = last[r];
      });
      sums = sum(at, 1, columns_.parts() + depth / kStep * kLanes * kStep, ahead, sums);
    }
    finish(sums, rows.sums(first), count, row_scales, out, ldo);
  }

 private:
  static constexpr int kLanes = 16;
  // Each row has so many sums, which take products in turn: an instruction waits about five cycles
  // for the one before it in the same sum, and two can start per cycle.
  static constexpr int kChains = 2;
  // The weights have their sign, so it is the parts of the columns that have an offset.
  struct SignedBytes : BytesRow {
    static constexpr int kOffset = 0;
  };
  using Ahead = AheadOfRows<SignedBytes, kRows>;
  struct Sums {
    __m512i of[kRows][kChains];
  };

  static Sums zero() {
    Sums sums;
    unroll<kRows>(
        [&](auto r) { unroll<kChains>([&](auto c) { sums.of[r][c] = _mm512_setzero_si512(); }); });
    return sums;
  }

  // Adds `steps` of each row to the sums.
  [[gnu::always_inline]] static Sums sum(const std::byte* const (&rows)[kRows], std::int64_t steps,
                                         const std::int8_t* parts, Ahead& ahead, Sums sums) {
    for (std::int64_t step = 0; step < steps; ++step, parts += kLanes * kStep) {
      const Ahead::Distances distances = ahead.next();
      unroll<16>([&](auto i) __attribute__((always_inline)) {
        // One place per row is prefetched, spread over the step.
        if constexpr (i % 2 == 0) prefetch_twice(rows[i / 2], distances.far, distances.near);
        const __m512i x = _mm512_load_si512(parts + i * kStep);
        unroll<kRows>([&](auto r) __attribute__((always_inline)) {
          add_products(sums.of[r][i % kChains], x, rows[r] + step * kStep + 4 * i);
        });
      });
    }
    return sums;
  }

  // `weights`: the sums of the rows' integers.
  void finish(const Sums& sums, const std::int32_t* weights, std::int64_t count,
              const float* row_scales, float* out, std::int64_t ldo) const {
    __m128 fours[2][kRows];
    unroll<kRows>([&](auto r) __attribute__((always_inline)) {
      const __m512i offset = _mm512_set1_epi32(r < count ? kUnsignedOffset * weights[r] : 0);
      const __m512i products = _mm512_add_epi32(sums.of[r][0], sums.of[r][1]);
      const __m256 eight = products_.finish(_mm512_sub_epi32(products, offset),
                                            _mm256_set1_ps(r < count ? row_scales[r] : 0));
      fours[0][r] = _mm256_castps256_ps128(eight);
      fours[1][r] = _mm256_extractf128_ps(eight, 1);
    });
    store_columns(fours, count, columns_.count(), out, ldo);
  }

  const Ahead ahead_;  // of a first group
  const GemvColumns& columns_;
  const EightProducts products_;
};

}  // namespace anemone::kernels::simd::int8_split
