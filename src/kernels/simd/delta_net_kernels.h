// SPDX-License-Identifier: Apache-2.0
// Gated delta nets, over the vectors of one instruction set. A vector holds columns of the state: a
// column needs nothing of the others, so some of them stay in the nearest cache while all tokens
// pass over them.
#pragma once

#include "kernels/simd/kernels.h"
#include "kernels/simd/shuffles.h"
#include "kernels/simd/unroll.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// term(0) + ... + term(count - 1) in the order of the reference product: term i is added to sum i
// modulo 16, and the sums are added in halves onto each other. Terms may be asked for in any order,
// once each.
template <typename Term>
[[gnu::always_inline]] inline Floats sum_of_products(std::int64_t count, const Term& term) {
  constexpr int kHalf = 8;
  Floats total[kHalf];
  for (int half = 0; half < 2; ++half) {
    Floats sums[kHalf] = {};
    std::int64_t i = half * kHalf;
    for (; i + kHalf <= count; i += 2 * kHalf)
      unroll<kHalf>([&](auto j) __attribute__((always_inline)) { sums[j] += term(i + j); });
    unroll<kHalf>([&](auto j) __attribute__((always_inline)) {
      if (i + j < count) sums[j] += term(i + j);
      total[j] = half == 0 ? sums[j] : total[j] + sums[j];
    });
  }
  unroll<4>([&](auto j) __attribute__((always_inline)) { total[j] += total[j + 4]; });
  return (total[0] + total[2]) + (total[1] + total[3]);
}

inline void run_delta_net(const DeltaNetHead& head, std::int64_t begin, std::int64_t end,
                          float* scratch) {
  const std::int64_t rows = head.key_dim;
  const std::int64_t count = end - begin;
  float* query = scratch + rows * kDeltaNetColumns;
  float* key = query + rows;
  Half* state = head.state + begin;
  // The columns of a vector lie together, row after row.
  for (std::int64_t c = 0; c < count; c += kWidth)
    for (std::int64_t r = 0; r < rows; ++r)
      store(scratch + c * rows + r * kWidth,
            load_some_halves(state + r * head.value_dim + c, count - c));
  for (std::int64_t t = 0; t < head.tokens; ++t) {
    to_floats(head.queries + t * rows, query, rows);
    to_floats(head.keys + t * rows, key, rows);
    const Floats decay = broadcast(to_float(head.decays[t]));
    const Floats strength = broadcast(to_float(head.strengths[t]));
    const Half* values = head.values + t * head.value_dim + begin;
    Half* out = head.out + t * head.value_dim + begin;
    for (std::int64_t c = 0; c < count; c += kWidth) {
      float* column = scratch + c * rows;
      const Floats said = sum_of_products(
          rows, [&](std::int64_t r) __attribute__((always_inline)) {
            const Floats decayed = nearest_halves(load(column + r * kWidth) * decay);
            store(column + r * kWidth, decayed);
            return decayed * key[r];
          });
      const Floats news =
          nearest_halves(load_some_halves(values + c, count - c) - nearest_halves(said));
      const Floats written = nearest_halves(news * strength);
      const Floats read = sum_of_products(
          rows, [&](std::int64_t r) __attribute__((always_inline)) {
            const Floats outer = nearest_halves(written * key[r]);
            const Floats updated = nearest_halves(load(column + r * kWidth) + outer);
            store(column + r * kWidth, updated);
            return updated * query[r];
          });
      store_some_halves(out + c, read, count - c);
    }
  }
  for (std::int64_t c = 0; c < count; c += kWidth)
    for (std::int64_t r = 0; r < rows; ++r)
      store_some_halves(state + r * head.value_dim + c, load(scratch + c * rows + r * kWidth),
                        count - c);
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
