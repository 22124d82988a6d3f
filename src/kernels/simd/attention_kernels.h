// SPDX-License-Identifier: Apache-2.0
// Attention over keys and values of fp16, over the vectors of one instruction set.
//
// A row's result has the same bits alone and among others. Positions come in blocks of kPositions
// that begin at multiples of it. A score is the sum over the dimensions in order. After each block
// the sums so far are scaled to its top: that of the weights, of which weight s is added to lane s
// % kWidth of one vector per block, and that of the weighted values, in order of the positions.
// Positions that a row does not attend to have the weight 0 and add nothing.
#pragma once

#include <cmath>

#include "kernels/simd/attention_rows.h"
#include "kernels/simd/column_products.h"
#include "kernels/simd/kernels.h"
#include "kernels/simd/shuffles.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// The most rows that attend_many() takes. It converts the keys and values of a block to floats once
// for all of them.
constexpr std::int64_t kAttendRows = 256;

// Dimensions in whole vectors of every instruction set.
constexpr std::int64_t attend_depth(std::int64_t dim) {
  return round_up(dim, 16);
}

// What attend_many() knows of a group of rows, which are the lanes of vectors.
struct AttentionGroup : RowGroup {
  float* q;      // [dim, kGroupRows]
  float* mixed;  // [dim, kGroupRows]

  // In whole vectors of every instruction set.
  std::int64_t lanes() const { return round_up(count, 16); }
};

inline void hide_positions(const AttentionGroup& group, std::int64_t first, std::int64_t positions,
                           float* scores) {
  for (std::int64_t k = 0; k < positions; ++k)
    for (std::int64_t r = 0; r < group.count; ++r)
      if (first + k < group.rows[r].begin || first + k >= group.rows[r].end)
        scores[k * kGroupRows + r] = kHidden;
}

// factor * the query of a row.
inline void load_query(const AttentionHead& head, const AttentionRow& row, float* out) {
  to_floats(row.query, out, head.dim);
  for (std::int64_t d = 0; d < head.dim; ++d) out[d] *= head.factor;
}

// The weight of a score.
inline Floats weight_of(Floats score, Floats top) {
  return score == broadcast(kHidden) ? Floats{} : exp(score - top, kLowest);
}

// One more block of scores [count, kGroupRows], where count is a multiple of kWidth, for the
// softmax of each row. Scores become weights, and the weighted values so far are scaled to the new
// top.
inline void add_scores(AttentionGroup& group, float* scores, std::int64_t count, std::int64_t dim) {
  for (std::int64_t v = 0; v < group.lanes(); v += kWidth) {
    const auto score = [&](std::int64_t k) { return scores + k * kGroupRows + v; };
    const Floats old_top = load(group.top + v);
    // Four maxima in turn, because each instruction waits for the one before it.
    Floats tops[4] = {old_top, old_top, old_top, old_top};
    for (std::int64_t k = 0; k < count; k += 4)
      for (int i = 0; i < 4; ++i) tops[i] = max(tops[i], load(score(k + i)));
    const Floats new_top = max(max(tops[0], tops[1]), max(tops[2], tops[3]));
    // As lanes of a vector, and added up like those of sum().
    Floats sums[kWidth];
    for (int i = 0; i < kWidth; ++i) {
      sums[i] = Floats{};
      for (std::int64_t k = i; k < count; k += kWidth) {
        const Floats e = weight_of(load(score(k)), new_top);
        store(score(k), e);
        sums[i] += e;
      }
    }
    for (int half = kWidth / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
    const Floats scale = exp(old_top - new_top, kLowest);
    store(group.top + v, new_top);
    store(group.total + v, fma(load(group.total + v), scale, sums[0]));
    if (are_equal(new_top, old_top)) continue;  // the scales are 1
    for (std::int64_t d = 0; d < dim; ++d) {
      float* at = group.mixed + d * kGroupRows + v;
      store(at, load(at) * scale);
    }
  }
}

// `memory` holds 2 * dim * kGroupRows floats.
inline AttentionGroup make_group(const AttentionHead& head, const AttentionRow* rows,
                                 std::int64_t count, float* memory, float* one) {
  AttentionGroup group;
  set_rows(group, rows, count, 1);
  group.q = memory;
  group.mixed = memory + kGroupRows * head.dim;
  for (std::int64_t r = 0; r < group.lanes(); ++r) {
    if (r < count) load_query(head, rows[r], one);
    for (std::int64_t d = 0; d < head.dim; ++d) group.q[d * kGroupRows + r] = one[d];
  }
  for (std::int64_t i = 0; i < head.dim * kGroupRows; ++i) group.mixed[i] = 0;
  return group;
}

// Positions [first, first + positions) for a group; `keys` and `values` are floats [positions,
// dim].
inline void attend_block(AttentionGroup& group, std::int64_t first, std::int64_t positions,
                         std::int64_t dim, const float* keys, const float* values, float* scores) {
  const std::int64_t lanes = group.lanes();
  const std::int64_t padded = (positions + kWidth - 1) / kWidth * kWidth;
  const bool hides_some = first < group.open || first + positions > group.close;
  multiply_left<false, false>({keys, dim, 1}, positions, dim, group.q, kGroupRows, lanes, scores,
                              kGroupRows);
  if (group.has_bias) add_bias(group, first, positions, 1, scores);
  if (hides_some) hide_positions(group, first, positions, scores);
  for (std::int64_t i = positions * kGroupRows; i < padded * kGroupRows; ++i) scores[i] = kHidden;
  add_scores(group, scores, padded, dim);
  (hides_some ? multiply_left<true> : multiply_left<false>)({values, 1, dim}, dim, positions,
                                                            scores, kGroupRows, lanes, group.mixed,
                                                            kGroupRows);
}

// Up to kAttendRows rows.
inline void attend_many(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                        float* scratch) {
  const std::int64_t dim = head.dim;
  float* keys = scratch;                          // [positions, dim]
  float* values = keys + kPositions * dim;        // [positions, dim]
  float* scores = values + kPositions * dim;      // [positions, rows of a group]
  float* one = scores + kPositions * kGroupRows;  // [dim]
  float* memory = one + attend_depth(dim);
  AttentionGroup groups[kAttendRows / kGroupRows];
  std::int64_t begin = rows[0].begin;
  std::int64_t end = rows[0].end;
  const std::int64_t all = (count + kGroupRows - 1) / kGroupRows;
  for (std::int64_t g = 0; g < all; ++g, memory += 2 * kGroupRows * dim) {
    const std::int64_t first = g * kGroupRows;
    const std::int64_t some = count - first < kGroupRows ? count - first : kGroupRows;
    groups[g] = make_group(head, rows + first, some, memory, one);
    begin = groups[g].begin < begin ? groups[g].begin : begin;
    end = groups[g].end > end ? groups[g].end : end;
  }
  for (std::int64_t s = begin / kPositions * kPositions; s < end; s += kPositions) {
    const std::int64_t positions = end - s < kPositions ? end - s : kPositions;
    prefetch(head.values, s * dim, positions * dim);
    to_floats(head.keys + s * dim, keys, positions * dim);
    prefetch(head.keys, (s + kPositions) * dim, kPositions * dim);
    to_floats(head.values + s * dim, values, positions * dim);
    for (std::int64_t g = 0; g < all; ++g) {
      AttentionGroup& group = groups[g];
      if (s + positions <= group.begin || s >= group.end) continue;
      const std::int64_t some = group.end - s < positions ? group.end - s : positions;
      attend_block(group, s, some, dim, keys, values, scores);
    }
  }
  for (std::int64_t g = 0; g < all; ++g)
    for (std::int64_t r = 0; r < groups[g].count; ++r) {
      const float inverse = 1.0f / groups[g].total[r];
      for (std::int64_t d = 0; d < dim; ++d) one[d] = groups[g].mixed[d * kGroupRows + r] * inverse;
      to_halves(one, groups[g].rows[r].out, dim);
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

// Sixteen rows of 32 halves as floats [32, kPositions].
inline void transpose_halves(const Half* rows, std::int64_t stride, float* out) {
  __m512i low[8];
  __m512i high[8];
  transpose_eight(rows, stride, low);
  transpose_eight(rows + 8 * stride, stride, high);
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  unroll<8>([&](auto j) __attribute__((always_inline)) {
    const auto put = [&](std::int64_t d, __m256i halves) __attribute__((always_inline)) {
      _mm512_storeu_ps(out + d * kPositions, _mm512_cvtph_ps(halves));
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

// Positions [begin, end) of a block of keys, fp16 [position, dim], as floats [dim, kPositions];
// what fills their vectors up is 0. Prefetches the values, which are needed next.
inline void transpose_keys(const Half* keys, const Half* values, std::int64_t dim,
                           std::int64_t begin, std::int64_t end, float* out) {
  for (std::int64_t s = begin / kWidth * kWidth; s < end; s += kWidth) {
    for (int i = 0; i < kWidth; ++i) prefetch(values, (s + i) * dim, dim);
    std::int64_t d = 0;
#if defined(ANEMONE_SIMD_AVX512)
    if (s >= begin && s + kWidth <= end)
      for (; d + 32 <= dim; d += 32)
        transpose_halves(keys + s * dim + d, dim, out + d * kPositions + s);
#endif
    for (; d < dim; d += kWidth) {
      Floats some[kWidth];
      for (int i = 0; i < kWidth; ++i)
        some[i] = s + i < begin || s + i >= end
                      ? Floats{}
                      : load_some_halves(keys + (s + i) * dim + d, dim - d);
      transpose(some);
      const std::int64_t left = dim - d < kWidth ? dim - d : kWidth;
      for (std::int64_t i = 0; i < left; ++i) store(out + (d + i) * kPositions + s, some[i]);
    }
  }
}

// `count` values as floats [count, attend_depth(dim)]. Prefetches the block of keys from `next` on,
// which is needed next.
inline void load_values(const Half* values, const Half* keys, std::int64_t next, std::int64_t dim,
                        std::int64_t count, float* out) {
  const std::int64_t depth = attend_depth(dim);
  const std::int64_t whole = dim / kWidth * kWidth;
  for (std::int64_t k = 0; k < kPositions; ++k) {
    prefetch(keys, (next + k) * dim, dim);
    if (k >= count) continue;
    const Half* const from = values + k * dim;
    float* const to = out + k * depth;
    for (std::int64_t d = 0; d < whole; d += kWidth) store(to + d, load_halves(from + d));
    for (std::int64_t d = whole; d < dim; ++d) to[d] = to_float(from[d]);
    for (std::int64_t d = dim; d < depth; ++d) to[d] = 0;
  }
}

// Scores [kPositions] of one row, of which those of [begin, end) count, become weights. Gives what
// the sums so far are to be scaled with.
inline float add_row_scores(float* scores, std::int64_t begin, std::int64_t end, float& top,
                            float& total) {
  for (std::int64_t s = 0; s < begin; ++s) scores[s] = kHidden;
  for (std::int64_t s = end; s < kPositions; ++s) scores[s] = kHidden;
  Floats tops = broadcast(top);
  for (std::int64_t s = 0; s < kPositions; s += kWidth) tops = max(tops, load(scores + s));
  const Floats new_top = broadcast(highest(tops));
  Floats sums{};
  for (std::int64_t s = 0; s < kPositions; s += kWidth) {
    const Floats e = weight_of(load(scores + s), new_top);
    store(scores + s, e);
    sums += e;
  }
  const Floats scale = exp(broadcast(top) - new_top, kLowest);
  top = new_top[0];
  total = fma(broadcast(total), scale, broadcast(sum(sums)))[0];
  return scale[0];
}

// Fewer than kGroupRows rows, which attend to the same positions without a bias.
inline void attend_few(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                       float* scratch) {
  const std::int64_t dim = head.dim;
  const std::int64_t depth = attend_depth(dim);
  const std::int64_t begin = rows[0].begin;
  const std::int64_t end = rows[0].end;
  float* block = scratch;
  float* scores = block + kPositions * depth;  // [rows, kPositions]
  float* mixed = scores + count * kPositions;  // [rows, depth]
  float* top = mixed + count * depth;
  float* total = top + count;
  float* q = total + count;  // [rows, dim]
  for (std::int64_t r = 0; r < count; ++r) {
    top[r] = rows[r].sink == nullptr ? kHidden : *rows[r].sink;
    total[r] = rows[r].sink == nullptr ? 0.0f : 1.0f;
    load_query(head, rows[r], q + r * dim);
  }
  for (std::int64_t i = 0; i < count * depth; ++i) mixed[i] = 0;
  for (std::int64_t s = begin / kPositions * kPositions; s < end; s += kPositions) {
    const std::int64_t first = begin > s ? begin - s : 0;
    const std::int64_t last = end - s < kPositions ? end - s : kPositions;
    const std::int64_t place = first / kWidth * kWidth;
    const std::int64_t places = (last + kWidth - 1) / kWidth * kWidth - place;
    transpose_keys(head.keys + s * dim, head.values + s * dim, dim, first, last, block);
    multiply_left<false, false>({q, dim, 1}, count, dim, block + place, kPositions, places,
                                scores + place, kPositions);
    for (std::int64_t r = 0; r < count; ++r) {
      const float scale = add_row_scores(scores + r * kPositions, first, last, top[r], total[r]);
      if (scale == 1) continue;
      for (std::int64_t d = 0; d < depth; d += kWidth)
        store(mixed + r * depth + d, load(mixed + r * depth + d) * scale);
    }
    load_values(head.values + (s + first) * dim, head.keys, s + kPositions, dim, last - first,
                block + first * depth);
    multiply_left({scores + first, kPositions, 1}, count, last - first, block + first * depth,
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
  attend_in_parts<kAttendRows>(
      rows, count,
      [&](const AttentionRow* some, std::int64_t taken) {
        attend_many(head, some, taken, scratch);
      },
      [&](const AttentionRow* some, std::int64_t taken) {
        attend_few(head, some, taken, scratch);
      });
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
