// SPDX-License-Identifier: Apache-2.0
// Attention by products of int16: how numbers become integers, and the sums of their products.
//
// A query, a key and a value is a factor times integers. The integers of a query or a key have a
// norm of 15 bits, so that no sum of their products exceeds 31 bits (Cauchy-Schwarz): the
// larger the share of a number in the norm is, the more bits it has. The largest integer of a value
// has 15 bits. Factors of keys and values are powers of 2, so their large numbers lose nothing. The
// weights of a softmax, each times the factor of its value, become integers whose sum has 15 bits
// in every block of positions.
//
// Keys of some models have dimensions that are many times as large as the others, which would leave
// few bits to those. They hardly change from one position to the next (they are those of low rotary
// frequencies), so what the first key of a block has there is the block's offset. Keys whose norm
// gets less by that become integers less the offset, whose product with the query is added to their
// scores as a float.
//
// Sums of integers are exact, so their order does not matter. A lane of a vector holds a pair of
// integers, which are multiplied by those of another pair and added up: two dimensions for scores,
// two positions for weighted values.
#pragma once

#include <limits>

#include "kernels/simd/attention_avx512.h"
#include "kernels/simd/shuffles.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

constexpr int kBits = 15;
// The norm of the integers of a query, and the sum of those of weights: 15 bits with what rounding
// adds, half a step for each of 64 positions or the root of the dimensions times that.
constexpr float kSize = 32704;

using Pair = std::int32_t;

// Dimensions in whole vectors of pairs.
constexpr std::int64_t int16_depth(std::int64_t dim) {
  return round_up(dim, 32);
}

// Numbers whose low 16 bits are those of the nearest integers of x * scale, which fit into them if
// x is finite: adding 1.5 * 2^23 rounds to an integer.
inline __m512i rounded(Floats x, Floats scale) {
  return (__m512i)fma(x, scale, broadcast(12582912.0f));
}
// Pairs of the integers in the low bits of two vectors.
inline __m512i join(__m512i first, __m512i second) {
  return _mm512_mask_blend_epi16(0xaaaaaaaa, first, _mm512_slli_epi32(second, 16));
}
inline Floats to_floats(Ints x) {
  return (Floats)_mm512_cvtepi32_ps((__m512i)x);
}
inline void store_pairs(Pair* p, __m512i pairs) {
  std::memcpy(p, &pairs, sizeof(pairs));
}

// Sixteen rows of `depth` numbers of fp16, whole vectors of pairs, one after the other.
struct Rows {
  const Half* first;
  std::int64_t depth;

  Floats load(std::int64_t r, std::int64_t d) const { return load_halves(first + r * depth + d); }
  __m512i magnitudes(std::int64_t r, std::int64_t d) const {
    return _mm512_and_si512(_mm512_loadu_si512(first + r * depth + d), _mm512_set1_epi16(0x7fff));
  }
};

// A row of such rows. Zeros stand for nullptr, and fill the vectors up.
inline void copy_row(const Half* row, std::int64_t dim, Half* out) {
  for (std::int64_t d = 0; d < dim; d += 32)
    _mm512_storeu_si512(out + d,
                        row == nullptr ? _mm512_setzero_si512() : load_some(row + d, dim - d));
}

// Rows plus factors [16] times an offset [depth].
struct OffsetRows {
  const Rows& rows;
  const float* offset;
  const float* factors;
  std::int64_t depth = rows.depth;

  Floats load(std::int64_t r, std::int64_t d) const {
    return fma(broadcast(factors[r]), simd::ANEMONE_SIMD_NAMESPACE::load(offset + d),
               rows.load(r, d));
  }
};

// The sum of the squares of each row.
template <typename AnyRows>
[[gnu::always_inline]] inline Floats squared_norms(const AnyRows& rows) {
  Floats sums[kWidth];
  unroll<kWidth>([&](auto r) __attribute__((always_inline)) { sums[r] = Floats{}; });
  for (std::int64_t d = 0; d < rows.depth; d += kWidth)
    unroll<kWidth>([&](auto r) __attribute__((always_inline)) {
      const Floats x = rows.load(r, d);
      sums[r] = fma(x, x, sums[r]);
    });
  return sums_of(sums);
}

// The largest magnitude of each row. As bits, infinities and NaN are larger than others.
[[gnu::always_inline]] inline Floats largest_magnitudes(const Rows& rows) {
  const auto larger = [](Ints a, Ints b) __attribute__((always_inline)) {
    return (Ints)_mm512_max_epu16((__m512i)a, (__m512i)b);
  };
  Ints largest[kWidth];  // two halves in each lane
  unroll<kWidth>([&](auto r) __attribute__((always_inline)) { largest[r] = Ints{}; });
  for (std::int64_t d = 0; d < rows.depth; d += 2 * kWidth)
    unroll<kWidth>([&](auto r) __attribute__((always_inline)) {
      largest[r] = larger(largest[r], (Ints)rows.magnitudes(r, d));
    });
  const Ints two = folded(largest, larger);
  const Ints one = larger(two, (Ints)_mm512_srli_epi32((__m512i)two, 16));
  return (Floats)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)one));
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Which of them are neither infinite nor NaN.
inline __mmask16 finite_ones(Floats magnitudes) {
  return _mm512_cmp_ps_mask((__m512)magnitudes, (__m512)broadcast(kInfinity), _CMP_LT_OQ);
}

// Numbers are integers times the factor, a power of 2. Times the inverse they become integers. Both
// are 0 for rows of zeros and for those that are not finite.
class Scales {
 public:
  static Scales of_squared_norms(Floats squares) {
    // Numbers less an offset may have more bits than fp16: a bit more, so that none is rounded up
    // to what 16 bits cannot hold.
    const auto most = (__m512)(squares * broadcast(1.0001f));
    const auto exponents = (__m512)((Floats)_mm512_getexp_ps(most) * broadcast(0.5f));
    return {squares, (Floats)_mm512_floor_ps(exponents)};
  }
  static Scales of_largest(Floats magnitudes) {
    return {magnitudes, (Floats)_mm512_getexp_ps((__m512)magnitudes)};
  }

  Floats factor;
  Floats inverse;

 private:
  // Each size lies in [2^exponent, 2^(exponent + 1)). `tested` is infinite, NaN or 0 where the size
  // is.
  Scales(Floats tested, Floats exponents) {
    const __mmask16 mask =
        finite_ones(tested) & _mm512_cmp_ps_mask((__m512)tested, (__m512)Floats{}, _CMP_GT_OQ);
    const Floats powers = exponents - broadcast(kBits - 1);
    const auto one = (__m512)broadcast(1);
    factor = (Floats)_mm512_maskz_scalef_ps(mask, one, (__m512)powers);
    inverse = (Floats)_mm512_maskz_scalef_ps(mask, one, (__m512)-powers);
  }
};

// Pairs of dimensions d to d + 31 of a row: d + i lies beside d + 16 + i.
template <typename AnyRows>
[[gnu::always_inline]] inline __m512i pairs_of(const AnyRows& rows, std::int64_t r, std::int64_t d,
                                               Floats inverse) {
  return join(rounded(rows.load(r, d), inverse), rounded(rows.load(r, d + kWidth), inverse));
}

// The pairs of rows: [rows, depth / 2].
template <typename AnyRows>
[[gnu::always_inline]] inline void to_pairs(const AnyRows& rows, const float* inverses, Pair* out) {
  const std::int64_t stride = rows.depth / 2;
  for (std::int64_t d = 0; d < rows.depth; d += 2 * kWidth)
    unroll<kWidth>([&](auto r) __attribute__((always_inline)) {
      store_pairs(out + r * stride + d / 2, pairs_of(rows, r, d, broadcast(inverses[r])));
    });
}

// The same as columns: [depth / 2, stride].
template <typename AnyRows>
[[gnu::always_inline]] inline void to_pair_columns(const AnyRows& rows, const float* inverses,
                                                   Pair* out, std::int64_t stride) {
  for (std::int64_t d = 0; d < rows.depth; d += 2 * kWidth) {
    Floats some[kWidth];
    unroll<kWidth>([&](auto r) __attribute__((always_inline)) {
      some[r] = (Floats)pairs_of(rows, r, d, broadcast(inverses[r]));
    });
    transpose(some);
    unroll<kWidth>([&](auto i) __attribute__((always_inline)) {
      store_pairs(out + (d / 2 + i) * stride, (__m512i)some[i]);
    });
  }
}

// Numbers of rows as columns: [depth, stride].
[[gnu::always_inline]] inline void to_columns(const Rows& rows, float* out, std::int64_t stride) {
  for (std::int64_t d = 0; d < rows.depth; d += kWidth) {
    Floats some[kWidth];
    unroll<kWidth>([&](auto r) __attribute__((always_inline)) { some[r] = rows.load(r, d); });
    transpose(some);
    unroll<kWidth>([&](auto i)
                       __attribute__((always_inline)) { store(out + (d + i) * stride, some[i]); });
  }
}

// Pairs of each row and the row after it: [8, depth].
[[gnu::always_inline]] inline void to_row_pairs(const Rows& rows, const float* inverses,
                                                Pair* out) {
  const std::int64_t depth = rows.depth;
  for (std::int64_t d = 0; d < depth; d += kWidth)
    unroll<kWidth / 2>([&](auto i) __attribute__((always_inline)) {
      const __m512i a = rounded(rows.load(2 * i, d), broadcast(inverses[2 * i]));
      const __m512i b = rounded(rows.load(2 * i + 1, d), broadcast(inverses[2 * i + 1]));
      store_pairs(out + i * depth + d, join(a, b));
    });
}

// A left operand of pairs: that of row r at depth k lies at data[r * row + k * step].
struct LeftPairs {
  const Pair* data;
  std::int64_t row;
  std::int64_t step;
};

// Calls finish(r, v, sum) with the sums of the products of row r and vector v of columns over
// `depth` pairs.
template <int kRows, int kVectors, typename Finish>
[[gnu::always_inline]] inline void multiply_pair_tile(LeftPairs a, std::int64_t depth,
                                                      const Pair* b, std::int64_t ldb,
                                                      const Finish& finish) {
  Ints sums[kRows][kVectors];
  unroll<kRows>([&](auto r) __attribute__((always_inline)) {
    unroll<kVectors>([&](auto v) __attribute__((always_inline)) { sums[r][v] = Ints{}; });
  });
  for (std::int64_t k = 0; k < depth; ++k) {
    Ints columns[kVectors];
    unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
      columns[v] = load_as<Ints>(b + v * kWidth);
    });
    b += ldb;
    unroll<kRows>([&](auto r) __attribute__((always_inline)) {
      const __m512i left = _mm512_set1_epi32(a.data[r * a.row]);
      unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
        sums[r][v] = (Ints)_mm512_dpwssd_epi32((__m512i)sums[r][v], (__m512i)columns[v], left);
      });
    });
    a.data += a.step;
  }
  unroll<kRows>([&](auto r) __attribute__((always_inline)) {
    unroll<kVectors>([&](auto v) __attribute__((always_inline)) { finish(r, v, sums[r][v]); });
  });
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
