// SPDX-License-Identifier: Apache-2.0
// Attention over keys and values of fp16, over the vectors of one instruction set.
//
// A row's result has the same bits alone and among others. Positions come in blocks of kAttendRows
// that begin at multiples of it. A score is the sum over the dimensions in order. After each block
// the sums so far are scaled to its top: that of the weights, of which weight s is added to lane s
// % kWidth of one vector per block, and that of the weighted values, in order of the positions.
// Positions that a row does not attend to have the weight 0 and add nothing.
#pragma once

#include <cmath>

#include "kernels/simd/column_products.h"
#include "kernels/simd/kernels.h"
#include "kernels/simd/shuffles.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// The score of a position that the row of a lane does not attend to: lower than any other.
constexpr float kHidden = -1e30f;

// Rows that are taken together at most, and positions of a block.
constexpr std::int64_t kAttendRows = 64;
// So many rows are transposed, so that they are the lanes of vectors; with fewer the positions are.
constexpr std::int64_t kManyRows = kAttendRows / 2;

// Dimensions in whole vectors of every instruction set.
constexpr std::int64_t attend_depth(std::int64_t dim) {
  return round_up(dim, 16);
}

inline void hide_positions(const AttentionRow* rows, std::int64_t count, std::int64_t first,
                           std::int64_t positions, float* scores) {
  for (std::int64_t k = 0; k < positions; ++k)
    for (std::int64_t r = 0; r < count; ++r)
      if (first + k < rows[r].begin || first + k >= rows[r].end)
        scores[k * kAttendRows + r] = kHidden;
}

inline void add_bias(const AttentionRow* rows, std::int64_t count, std::int64_t first,
                     std::int64_t positions, float* scores) {
  float row[kAttendRows];
  for (std::int64_t r = 0; r < count; ++r) {
    if (rows[r].bias == nullptr) continue;
    const std::int64_t some = rows[r].end - first < positions ? rows[r].end - first : positions;
    if (some > 0) to_floats(rows[r].bias + first, row, some);
    for (std::int64_t k = 0; k < some; ++k) scores[k * kAttendRows + r] += row[k];
  }
}

// factor * the query of a row.
inline void load_query(const AttentionHead& head, const AttentionRow& row, float* out) {
  to_floats(row.query, out, head.dim);
  for (std::int64_t d = 0; d < head.dim; ++d) out[d] *= head.factor;
}

// The weight of a score.
inline Floats weight_of(Floats score, Floats top) {
  return score == broadcast(kHidden) ? Floats{} : exp(score - top);
}

// One more block of scores [count, kAttendRows], where count is a multiple of kWidth, for the
// softmax of each of `rows` lanes: `top` and `total` are those of the blocks before. Scores become
// weights, and `mixed` [dim, kAttendRows] is scaled to the new top.
inline void add_scores(float* scores, std::int64_t count, std::int64_t rows, float* top,
                       float* total, float* mixed, std::int64_t dim) {
  for (std::int64_t v = 0; v < rows; v += kWidth) {
    const Floats old_top = load(top + v);
    Floats new_top = old_top;
    for (std::int64_t k = 0; k < count; ++k)
      new_top = max(new_top, load(scores + k * kAttendRows + v));
    // As lanes of a vector, and added up like those of sum().
    Floats sums[kWidth] = {};
    for (std::int64_t k = 0; k < count; k += kWidth)
      for (int i = 0; i < kWidth; ++i) {
        float* score = scores + (k + i) * kAttendRows + v;
        const Floats e = weight_of(load(score), new_top);
        store(score, e);
        sums[i] += e;
      }
    for (int half = kWidth / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
    const Floats scale = exp(old_top - new_top);
    store(top + v, new_top);
    store(total + v, fma(load(total + v), scale, sums[0]));
    for (std::int64_t d = 0; d < dim; ++d) {
      float* at = mixed + d * kAttendRows + v;
      store(at, load(at) * scale);
    }
  }
}

// Up to kAttendRows rows, as lanes.
inline void attend_many(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                        float* scratch) {
  const std::int64_t dim = head.dim;
  const std::int64_t lanes = round_up(count, 16);
  float* scores = scratch;  // [positions, rows]
  float* block = scores + kAttendRows * kAttendRows;
  float* q = block + kAttendRows * dim;    // [dim, rows]
  float* mixed = q + kAttendRows * dim;    // [dim, rows]
  float* one = mixed + kAttendRows * dim;  // [dim]
  std::int64_t begin = rows[0].begin;
  std::int64_t end = rows[0].end;
  std::int64_t open = begin;  // all rows attend to positions [open, close)
  std::int64_t close = end;
  bool has_bias = false;
  float top[kAttendRows];
  float total[kAttendRows];
  for (std::int64_t r = 0; r < lanes; ++r) {
    // Lanes that fill up a vector are like the last row.
    const AttentionRow& row = rows[r < count ? r : count - 1];
    begin = row.begin < begin ? row.begin : begin;
    end = row.end > end ? row.end : end;
    open = row.begin > open ? row.begin : open;
    close = row.end < close ? row.end : close;
    has_bias = has_bias || row.bias != nullptr;
    top[r] = row.sink == nullptr ? kHidden : *row.sink;
    total[r] = row.sink == nullptr ? 0.0f : 1.0f;
    if (r < count) load_query(head, row, one);
    for (std::int64_t d = 0; d < dim; ++d) q[d * kAttendRows + r] = one[d];
  }
  for (std::int64_t i = 0; i < dim * kAttendRows; ++i) mixed[i] = 0;
  for (std::int64_t s = begin / kAttendRows * kAttendRows; s < end; s += kAttendRows) {
    const std::int64_t positions = end - s < kAttendRows ? end - s : kAttendRows;
    const std::int64_t padded = (positions + kWidth - 1) / kWidth * kWidth;
    const bool hides_some = s < open || s + positions > close;
    prefetch(head.values, s * dim, positions * dim);
    to_floats(head.keys + s * dim, block, positions * dim);
    for (std::int64_t i = 0; i < positions * kAttendRows; ++i) scores[i] = 0;
    multiply_left({block, dim, 1}, positions, dim, q, kAttendRows, lanes, scores, kAttendRows);
    if (has_bias) add_bias(rows, count, s, positions, scores);
    if (hides_some) hide_positions(rows, count, s, positions, scores);
    for (std::int64_t i = positions * kAttendRows; i < padded * kAttendRows; ++i)
      scores[i] = kHidden;
    add_scores(scores, padded, lanes, top, total, mixed, dim);
    prefetch(head.keys, (s + kAttendRows) * dim, kAttendRows * dim);
    to_floats(head.values + s * dim, block, positions * dim);
    (hides_some ? multiply_left<true> : multiply_left<false>)({block, 1, dim}, dim, positions,
                                                              scores, kAttendRows, lanes, mixed,
                                                              kAttendRows);
  }
  for (std::int64_t r = 0; r < count; ++r) {
    const float inverse = 1.0f / total[r];
    for (std::int64_t d = 0; d < dim; ++d) one[d] = mixed[d * kAttendRows + r] * inverse;
    to_halves(one, rows[r].out, dim);
  }
}

#if defined(ANEMONE_SIMD_AVX512)
// Eight rows of 32 halves: the 16 bytes l of out[j] become element 8 * l + j of each row.
[[gnu::always_inline]] inline void transpose_eight(const Half* rows, std::int64_t stride,
                                                   __m512i* out) {
  __m512i a[8];
  __m512i b[8];
  unroll<8>([&](auto i)
                __attribute__((always_inline)) { a[i] = _mm512_loadu_si512(rows + i * stride); });
  // Rows i and i + 4 next to each other, then i and i + 2 of those, then i and i + 1.
  unroll<4>([&](auto i) __attribute__((always_inline)) {
    b[2 * i] = _mm512_unpacklo_epi16(a[i], a[i + 4]);
    b[2 * i + 1] = _mm512_unpackhi_epi16(a[i], a[i + 4]);
  });
  unroll<4>([&](auto i) __attribute__((always_inline)) {
    a[2 * i] = _mm512_unpacklo_epi16(b[i], b[i + 4]);
    a[2 * i + 1] = _mm512_unpackhi_epi16(b[i], b[i + 4]);
  });
  unroll<4>([&](auto i) __attribute__((always_inline)) {
    out[2 * i] = _mm512_unpacklo_epi16(a[i], a[i + 4]);
    out[2 * i + 1] = _mm512_unpackhi_epi16(a[i], a[i + 4]);
  });
}

// Sixteen rows of 32 halves as floats [32, kAttendRows].
inline void transpose_halves(const Half* rows, std::int64_t stride, float* out) {
  __m512i low[8];
  __m512i high[8];
  transpose_eight(rows, stride, low);
  transpose_eight(rows + 8 * stride, stride, high);
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  unroll<8>([&](auto j) __attribute__((always_inline)) {
    const auto put = [&](std::int64_t d, __m256i halves) __attribute__((always_inline)) {
      _mm512_storeu_ps(out + d * kAttendRows, _mm512_cvtph_ps(halves));
    };
    const __m512i a = _mm512_permutex2var_epi64(low[j], first, high[j]);
    const __m512i b = _mm512_permutex2var_epi64(low[j], second, high[j]);
    put(j, _mm512_castsi512_si256(a));
    put(8 + j, _mm512_extracti64x4_epi64(a, 1));
    put(16 + j, _mm512_castsi512_si256(b));
    put(24 + j, _mm512_extracti64x4_epi64(b, 1));
  });
}
#endif

// Positions [begin, end) of a block of keys, fp16 [position, dim], as floats [dim, kAttendRows];
// what fills their vectors up is 0. Prefetches the values, which are needed next.
inline void transpose_keys(const Half* keys, const Half* values, std::int64_t dim,
                           std::int64_t begin, std::int64_t end, float* out) {
  for (std::int64_t s = begin / kWidth * kWidth; s < end; s += kWidth) {
    for (int i = 0; i < kWidth; ++i) prefetch(values, (s + i) * dim, dim);
    std::int64_t d = 0;
#if defined(ANEMONE_SIMD_AVX512)
    if (s >= begin && s + kWidth <= end)
      for (; d + 32 <= dim; d += 32)
        transpose_halves(keys + s * dim + d, dim, out + d * kAttendRows + s);
#endif
    for (; d < dim; d += kWidth) {
      Floats some[kWidth];
      for (int i = 0; i < kWidth; ++i)
        some[i] = s + i < begin || s + i >= end
                      ? Floats{}
                      : load_some_halves(keys + (s + i) * dim + d, dim - d);
      transpose(some);
      const std::int64_t left = dim - d < kWidth ? dim - d : kWidth;
      for (std::int64_t i = 0; i < left; ++i) store(out + (d + i) * kAttendRows + s, some[i]);
    }
  }
}

// `count` values as floats [count, attend_depth(dim)]. Prefetches the block of keys from `next` on,
// which is needed next.
inline void load_values(const Half* values, const Half* keys, std::int64_t next, std::int64_t dim,
                        std::int64_t count, float* out) {
  const std::int64_t depth = attend_depth(dim);
  const std::int64_t whole = dim / kWidth * kWidth;
  for (std::int64_t k = 0; k < kAttendRows; ++k) {
    prefetch(keys, (next + k) * dim, dim);
    if (k >= count) continue;
    const Half* const from = values + k * dim;
    float* const to = out + k * depth;
    for (std::int64_t d = 0; d < whole; d += kWidth) store(to + d, load_halves(from + d));
    for (std::int64_t d = whole; d < dim; ++d) to[d] = to_float(from[d]);
    for (std::int64_t d = dim; d < depth; ++d) to[d] = 0;
  }
}

// Scores [kAttendRows] of one row, of which those of [begin, end) count, become weights. Gives what
// the sums so far are to be scaled with.
inline float add_row_scores(float* scores, std::int64_t begin, std::int64_t end, float& top,
                            float& total) {
  for (std::int64_t s = 0; s < begin; ++s) scores[s] = kHidden;
  for (std::int64_t s = end; s < kAttendRows; ++s) scores[s] = kHidden;
  Floats tops = broadcast(top);
  for (std::int64_t s = 0; s < kAttendRows; s += kWidth) tops = max(tops, load(scores + s));
  const Floats new_top = broadcast(highest(tops));
  Floats sums{};
  for (std::int64_t s = 0; s < kAttendRows; s += kWidth) {
    const Floats e = weight_of(load(scores + s), new_top);
    store(scores + s, e);
    sums += e;
  }
  const Floats scale = exp(broadcast(top) - new_top);
  top = new_top[0];
  total = fma(broadcast(total), scale, broadcast(sum(sums)))[0];
  return scale[0];
}

// Fewer than kManyRows rows, which attend to the same positions without a bias.
inline void attend_few(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                       float* scratch) {
  const std::int64_t dim = head.dim;
  const std::int64_t depth = attend_depth(dim);
  const std::int64_t begin = rows[0].begin;
  const std::int64_t end = rows[0].end;
  float* block = scratch;
  float* scores = block + kAttendRows * depth;  // [rows, kAttendRows]
  float* mixed = scores + count * kAttendRows;  // [rows, depth]
  float* top = mixed + count * depth;
  float* total = top + count;
  float* q = total + count;  // [rows, dim]
  for (std::int64_t r = 0; r < count; ++r) {
    top[r] = rows[r].sink == nullptr ? kHidden : *rows[r].sink;
    total[r] = rows[r].sink == nullptr ? 0.0f : 1.0f;
    load_query(head, rows[r], q + r * dim);
  }
  for (std::int64_t i = 0; i < count * depth; ++i) mixed[i] = 0;
  for (std::int64_t s = begin / kAttendRows * kAttendRows; s < end; s += kAttendRows) {
    const std::int64_t first = begin > s ? begin - s : 0;
    const std::int64_t last = end - s < kAttendRows ? end - s : kAttendRows;
    const std::int64_t place = first / kWidth * kWidth;
    const std::int64_t places = (last + kWidth - 1) / kWidth * kWidth - place;
    transpose_keys(head.keys + s * dim, head.values + s * dim, dim, first, last, block);
    for (std::int64_t i = 0; i < count * kAttendRows; ++i) scores[i] = 0;
    multiply_left({q, dim, 1}, count, dim, block + place, kAttendRows, places, scores + place,
                  kAttendRows);
    for (std::int64_t r = 0; r < count; ++r) {
      const float scale = add_row_scores(scores + r * kAttendRows, first, last, top[r], total[r]);
      if (scale == 1) continue;
      for (std::int64_t d = 0; d < depth; d += kWidth)
        store(mixed + r * depth + d, load(mixed + r * depth + d) * scale);
    }
    load_values(head.values + (s + first) * dim, head.keys, s + kAttendRows, dim, last - first,
                block + first * depth);
    multiply_left({scores + first, kAttendRows, 1}, count, last - first, block + first * depth,
                  depth, depth, mixed, depth);
  }
  for (std::int64_t r = 0; r < count; ++r) {
    const float inverse = 1.0f / total[r];
    for (std::int64_t d = 0; d < dim; ++d) mixed[r * depth + d] *= inverse;
    to_halves(mixed + r * depth, rows[r].out, dim);
  }
}

inline void attend(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                   float* scratch) {
  for (std::int64_t r = 0; r < count;) {
    const AttentionRow* const some = rows + r;
    const std::int64_t left = count - r;
    std::int64_t taken = 1;
    if (left >= kManyRows || some->bias != nullptr) {
      taken = left < kAttendRows ? left : kAttendRows;
      attend_many(head, some, taken, scratch);
    } else {
      while (taken < left && some[taken].begin == some->begin && some[taken].end == some->end &&
             some[taken].bias == nullptr)
        ++taken;
      attend_few(head, some, taken, scratch);
    }
    r += taken;
  }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
