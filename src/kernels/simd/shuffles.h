// SPDX-License-Identifier: Apache-2.0
// Several vectors of one instruction set at once: their sums, and their transpose.
#pragma once

#include <utility>

#include "kernels/simd/unroll.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// Both vectors consist of groups of 2 * kHalf elements. Combines the halves of each group with each
// other: the groups of a, then those of b, of kHalf elements each.
template <int kHalf, typename Vector, typename Combine, std::size_t... kIndex>
[[gnu::always_inline]] inline Vector fold(Vector a, Vector b, const Combine& combine,
                                          std::index_sequence<kIndex...>) {
  // Element i of the result is number i % kHalf of group i / kHalf.
  const Vector low =
      __builtin_shufflevector(a, b, (int{kIndex} / kHalf * 2 * kHalf + int{kIndex} % kHalf)...);
  const Vector high = __builtin_shufflevector(
      a, b, (int{kIndex} / kHalf * 2 * kHalf + int{kIndex} % kHalf + kHalf)...);
  return combine(low, high);
}

// The elements of each of kWidth vectors combined: halves with each other. Uses up `v`.
template <int kHalf = kWidth / 2, typename Vector, typename Combine>
[[gnu::always_inline]] inline Vector folded(Vector* v, const Combine& combine) {
  unroll<kHalf>([&](auto i) __attribute__((always_inline)) {
    v[i] = fold<kHalf>(v[2 * i], v[2 * i + 1], combine, std::make_index_sequence<kWidth>());
  });
  if constexpr (kHalf > 1) folded<kHalf / 2>(v, combine);
  return v[0];
}
// sum(v[i]) each, to the bits of sum(): the same halves meet.
template <typename Vector>
[[gnu::always_inline]] inline Vector sums_of(Vector* v) {
  return folded(
      v, [](Vector a, Vector b) __attribute__((always_inline)) { return a + b; });
}

template <std::size_t... kIndex>
[[gnu::always_inline]] inline void interleave(Floats a, Floats b, Floats& low, Floats& high,
                                              std::index_sequence<kIndex...>) {
  low = __builtin_shufflevector(a, b, (int{kIndex} / 2 + int{kIndex} % 2 * kWidth)...);
  high =
      __builtin_shufflevector(a, b, (kWidth / 2 + int{kIndex} / 2 + int{kIndex} % 2 * kWidth)...);
}

// Element i of v[j] becomes element j of v[i].
template <int kRounds = kWidth>
[[gnu::always_inline]] inline void transpose(Floats* v) {
  Floats out[kWidth];
  unroll<kWidth / 2>([&](auto i) __attribute__((always_inline)) {
    interleave(v[i], v[i + kWidth / 2], out[2 * i], out[2 * i + 1],
               std::make_index_sequence<kWidth>());
  });
  unroll<kWidth>([&](auto i) __attribute__((always_inline)) { v[i] = out[i]; });
  if constexpr (kRounds > 2) transpose<kRounds / 2>(v);
}

// Up to kWidth halves, zeros after them.
inline Floats load_some_halves(const Half* p, std::int64_t count) {
  if (count >= kWidth) return load_halves(p);
  Half some[kWidth] = {};
  std::memcpy(some, p, static_cast<std::size_t>(count) * sizeof(Half));
  return load_halves(some);
}

// The first `count` elements, all of them at most.
inline void store_some_halves(Half* p, Floats v, std::int64_t count) {
  if (count >= kWidth) return store_halves(p, v);
  Half some[kWidth];
  store_halves(some, v);
  std::memcpy(p, some, static_cast<std::size_t>(count) * sizeof(Half));
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
