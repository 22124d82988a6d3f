// SPDX-License-Identifier: Apache-2.0
// Gated delta nets, over the vectors of one instruction set. A vector holds columns of the state: a
// column needs nothing of the others, so some of them stay in the nearest cache while all tokens
// pass over them.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "kernels/simd/kernels.h"
#include "kernels/simd/shuffles.h"
#include "kernels/simd/unroll.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// Calls body(j) for each of kRows rows and gives their results.
template <int kRows, typename Body>
[[gnu::always_inline]] inline std::array<Floats, kRows> each_row(const Body& body) {
  std::array<Floats, kRows> out;
  unroll<kRows>([&](auto j) __attribute__((always_inline)) { out[j] = body(j); });
  return out;
}

template <std::size_t kRows>
[[gnu::always_inline]] inline std::array<Floats, kRows> nearest_halves_of(
    const std::array<Floats, kRows>& x) {
  return each_row<kRows>([&](auto j)
                             __attribute__((always_inline)) { return nearest_halves(x[j]); });
}

// Sum over r < rows of state[r] * factors[r] for the rows that update() gives, which replace those
// of `column`, [rows, kWidth]. The order is that of the reference product: term r is added to sum r
// modulo 16, and the sums are added in halves onto each other.
//
// update(n, r) gives the n rows from r on, n a constant. It takes all of them through one
// instruction before the next: the instructions of one row wait for each other, and a processor
// finds few others to run meanwhile if those of the next row come after all of these.
template <typename Update>
[[gnu::always_inline]] inline Floats sum_of_updated(std::int64_t rows, const float* factors,
                                                    float* column, const Update& update) {
  constexpr int kHalf = 8;
  Floats total[kHalf];
  for (int half = 0; half < 2; ++half) {
    Floats sums[kHalf] = {};
    const auto add = [&](auto n, auto first_sum, std::int64_t r) __attribute__((always_inline)) {
      const auto updated = update(n, r);
      unroll<n>([&](auto j) __attribute__((always_inline)) {
        store(column + (r + j) * kWidth, updated[j]);
        sums[first_sum + j] += updated[j] * factors[r + j];
      });
    };
    std::int64_t r = half * kHalf;
    for (; r + kHalf <= rows; r += 2 * kHalf)
      add(std::integral_constant<int, kHalf>(), std::integral_constant<int, 0>(), r);
    unroll<kHalf>([&](auto j) __attribute__((always_inline)) {
      if (r + j < rows) add(std::integral_constant<int, 1>(), j, r + j);
      total[j] = half == 0 ? sums[j] : total[j] + sums[j];
    });
  }
  unroll<4>([&](auto j) __attribute__((always_inline)) { total[j] += total[j + 4]; });
  return (total[0] + total[2]) + (total[1] + total[3]);
}

// Columns of a head's state from `first` on, at most kWidth, as [key_dim, kWidth].
inline void load_columns(const DeltaNetHead& head, std::int64_t first, std::int64_t count,
                         float* columns) {
  for (std::int64_t r = 0; r < head.key_dim; ++r)
    store(columns + r * kWidth, load_some_halves(head.state + r * head.value_dim + first, count));
}
inline void store_columns(const DeltaNetHead& head, std::int64_t first, std::int64_t count,
                          const float* columns) {
  for (std::int64_t r = 0; r < head.key_dim; ++r)
    store_some_halves(head.state + r * head.value_dim + first, load(columns + r * kWidth), count);
}

inline void run_delta_net(const DeltaNetHead& head, std::int64_t begin, std::int64_t end,
                          float* scratch) {
  const std::int64_t rows = head.key_dim;
  const std::int64_t count = end - begin;
  float* query = scratch + rows * kDeltaNetColumns;
  float* key = query + rows;
  for (std::int64_t c = 0; c < count; c += kWidth)
    load_columns(head, begin + c, count - c, scratch + c * rows);
  for (std::int64_t t = 0; t < head.tokens; ++t) {
    to_floats(head.queries + t * rows, query, rows);
    to_floats(head.keys + t * rows, key, rows);
    const Floats decay = broadcast(to_float(head.decays[t]));
    const Floats strength = broadcast(to_float(head.strengths[t]));
    const Half* values = head.values + t * head.value_dim + begin;
    Half* out = head.out + t * head.value_dim + begin;
    for (std::int64_t c = 0; c < count; c += kWidth) {
      float* column = scratch + c * rows;
      const auto decayed = [&](auto n, std::int64_t r) __attribute__((always_inline)) {
        return nearest_halves_of(each_row<n>([&](auto j) __attribute__((always_inline)) {
          return load(column + (r + j) * kWidth) * decay;
        }));
      };
      const Floats said = sum_of_updated(rows, key, column, decayed);
      const Floats news =
          nearest_halves(load_some_halves(values + c, count - c) - nearest_halves(said));
      const Floats written = nearest_halves(news * strength);
      const auto updated = [&](auto n, std::int64_t r) __attribute__((always_inline)) {
        const auto outer = nearest_halves_of(each_row<n>([&](
            auto j) __attribute__((always_inline)) { return written * key[r + j]; }));
        return nearest_halves_of(each_row<n>([&](auto j) __attribute__((always_inline)) {
          return load(column + (r + j) * kWidth) + outer[j];
        }));
      };
      const Floats read = sum_of_updated(rows, query, column, updated);
      store_some_halves(out + c, read, count - c);
    }
  }
  for (std::int64_t c = 0; c < count; c += kWidth)
    store_columns(head, begin + c, count - c, scratch + c * rows);
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
