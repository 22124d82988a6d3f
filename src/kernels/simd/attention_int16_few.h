// SPDX-License-Identifier: Apache-2.0
// Attention by products of int16 of a few rows: the lanes of vectors are positions, then
// dimensions.
#pragma once

#include "kernels/simd/attention_int16_block.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// finish(r, v, sum) for up to four rows and four vectors of columns at a time.
template <int kVectors, typename Finish>
void multiply_pair_rows(LeftPairs a, std::int64_t rows, std::int64_t depth, const Pair* b,
                        std::int64_t ldb, const Finish& finish) {
  std::int64_t r = 0;
  const auto finish_row = [&](auto i, auto v, Ints sum) __attribute__((always_inline)) {
    finish(r + i, v, sum);
  };
  for (; r + 4 <= rows; r += 4)
    multiply_pair_tile<4, kVectors>({a.data + r * a.row, a.row, a.step}, depth, b, ldb, finish_row);
  const LeftPairs last{a.data + r * a.row, a.row, a.step};
  switch (rows - r) {
    case 3:
      return multiply_pair_tile<3, kVectors>(last, depth, b, ldb, finish_row);
    case 2:
      return multiply_pair_tile<2, kVectors>(last, depth, b, ldb, finish_row);
    case 1:
      return multiply_pair_tile<1, kVectors>(last, depth, b, ldb, finish_row);
    default:
      return;
  }
}
template <typename Finish>
void multiply_pairs(LeftPairs a, std::int64_t rows, std::int64_t depth, const Pair* b,
                    std::int64_t ldb, std::int64_t columns, const Finish& finish) {
  std::int64_t n = 0;
  for (; n + 4 * kWidth <= columns; n += 4 * kWidth)
    multiply_pair_rows<4>(
        a, rows, depth, b + n,
        ldb, [&](std::int64_t r, int v, Ints sum) __attribute__((always_inline)) {
          finish(r, n + v * kWidth, sum);
        });
  for (; n < columns; n += kWidth)
    multiply_pair_rows<1>(
        a, rows, depth, b + n,
        ldb, [&](std::int64_t r, int, Ints sum) __attribute__((always_inline)) {
          finish(r, n, sum);
        });
}

// The softmaxes of sixteen rows so far.
struct RowStates {
  alignas(64) float factors[kWidth];  // of the scores
  float top[kWidth];
  float total[kWidth];
  float old_scale[kWidth];   // of the sums before the block
  float new_factor[kWidth];  // of the sums of the block
};

// Scores [rows, kPositions] of up to sixteen rows, of which `count` positions are there, become
// weights: pairs [rows, kPositions / 2] of two positions. Those before `begin` and from `end` on
// are of positions that the rows do not attend to.
inline void weigh_rows(RowStates& states, std::int64_t rows, const float* value_factors,
                       std::int64_t begin, std::int64_t end, std::int64_t count, float* scores,
                       Pair* weights) {
  Floats tops[kWidth];
  for (std::int64_t r = 0; r < kWidth; ++r) {
    tops[r] = broadcast(kHidden);
    if (r >= rows) continue;
    float* const row = scores + r * kPositions;
    for (std::int64_t s = 0; s < begin; ++s) row[s] = kHidden;
    for (std::int64_t s = end; s < count; ++s) row[s] = kHidden;
    for (std::int64_t s = 0; s < count; s += kWidth) tops[r] = max(tops[r], load(row + s));
  }
  const Floats old_top = load(states.top);
  const Floats top =
      max(old_top,
          folded(
              tops, [](Floats a, Floats b) __attribute__((always_inline)) { return max(a, b); }));
  store(states.top, top);
  Floats totals[kWidth];
  Floats sums[kWidth];
  for (std::int64_t r = 0; r < kWidth; ++r) {
    totals[r] = sums[r] = Floats{};
    if (r >= rows) continue;
    float* const row = scores + r * kPositions;
    for (std::int64_t s = 0; s < count; s += kWidth) {
      const Floats score = load(row + s);
      const Floats power = power_of_2(score - broadcast(states.top[r]), kLowest);
      const Floats weight = score == broadcast(kHidden) ? Floats{} : power;
      const Floats scaled = weight * load(value_factors + s);
      store(row + s, scaled);
      totals[r] += weight;
      sums[r] += scaled;
    }
  }
  const Floats old_scale = power_of_2(old_top - top, kLowest);
  store(states.old_scale, old_scale);
  store(states.total, fma(load(states.total), old_scale, sums_of(totals)));
  const Floats sum = sums_of(sums);
  alignas(64) float scales[kWidth];
  store(scales, weight_scale(sum));
  Ints integers[kWidth];
  for (std::int64_t r = 0; r < kWidth; ++r) {
    integers[r] = Ints{};
    if (r >= rows) continue;
    for (std::int64_t s = 0; s < count; s += kWidth) {
      const __m512i some = rounded(load(scores + r * kPositions + s), broadcast(scales[r]));
      const __m256i pairs = _mm512_cvtepi32_epi16(some);
      std::memcpy(weights + (r * kPositions + s) / 2, &pairs, sizeof(pairs));
      integers[r] = (Ints)_mm512_add_epi32((__m512i)integers[r], some);
    }
  }
  const Ints all = folded(
      integers, [](Ints a, Ints b) __attribute__((always_inline)) {
        return (Ints)_mm512_add_epi32((__m512i)a, (__m512i)b);
      });
  store(states.new_factor, weight_factor(sum, (__m512i)all, count));
}

// As add_offset() does to scores [count] of a row.
inline void add_row_offset(const AttentionRow& row, const Block& block, float factor,
                           std::int64_t count, float* scores) {
  Floats offset{};
  block.for_each_offset([&](std::int64_t d, float number) __attribute__((always_inline)) {
    offset = fma(broadcast(to_float(row.query[d])), broadcast(number), offset);
  });
  offset *= broadcast(-factor);
  for (std::int64_t s = 0; s < count; s += kWidth)
    store(scores + s, fma(load(block.offset_factors() + s), offset, load(scores + s)));
}

// Fewer than kGroupRows rows, which attend to the same positions without a bias. Returns whether
// all keys and values there are finite; otherwise there are no results.
inline bool attend_few(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                       float* scratch) {
  const std::int64_t depth = int16_depth(head.dim);
  const std::int64_t begin = rows[0].begin;
  const std::int64_t end = rows[0].end;
  Memory memory(scratch);
  Block block(head, memory);
  Pair* const queries = memory.take<Pair>(kGroupRows * depth / 2);  // [rows, depth / 2]
  float* const mixed = memory.take<float>(count * depth);           // [rows, depth]
  float* const scores = memory.take<float>(count * kPositions);     // [rows, kPositions]
  Pair* const weights = memory.take<Pair>(count * kPositions / 2);  // [rows, kPositions / 2]
  RowStates states[kGroupRows / kWidth];
  for (std::int64_t r = 0; r < count; r += kWidth) {
    const std::int64_t left = count - r < kWidth ? count - r : kWidth;
    const Queries some(head, rows + r, left, block.room_for_rows());
    to_pairs(some.numbers, some.inverses, queries + r * depth / 2);
    RowStates& of = states[r / kWidth];
    store(of.factors, some.factors);
    for (std::int64_t i = 0; i < kWidth; ++i) {
      const float* const sink = i < left ? rows[r + i].sink : nullptr;
      of.top[i] = sink == nullptr ? kHidden : *sink * kLog2E;
      of.total[i] = sink == nullptr ? 0.0f : 1.0f;
    }
  }
  for (std::int64_t i = 0; i < count * depth; i += kWidth) store(mixed + i, Floats{});
  for (std::int64_t s = begin / kPositions * kPositions; s < end; s += kPositions) {
    const std::int64_t first = begin > s ? begin - s : 0;
    const std::int64_t last = end - s < kPositions ? end - s : kPositions;
    const std::int64_t positions = round_up(last, kWidth);
    block.begin(s, first == 0);
    block.load_transposed(first, last);
    if (block.not_finite() != 0) return false;
    multiply_pairs(
        {queries, depth / 2, 1}, count, depth / 2, block.keys(), kPositions,
        positions, [&](std::int64_t r, std::int64_t n, Ints sum) __attribute__((always_inline)) {
          store(scores + r * kPositions + n, to_floats(sum) * load(block.key_factors() + n) *
                                                 broadcast(states[r / kWidth].factors[r % kWidth]));
        });
    if (block.has_offset())
      for (std::int64_t r = 0; r < count; ++r)
        add_row_offset(rows[r], block, head.factor * kLog2E, positions, scores + r * kPositions);
    for (std::int64_t r = 0; r < count; r += kWidth)
      weigh_rows(states[r / kWidth], count - r < kWidth ? count - r : kWidth, block.value_factors(),
                 first, last, positions, scores + r * kPositions, weights + r * kPositions / 2);
    multiply_pairs(
        {weights, kPositions / 2, 1}, count, positions / 2, block.values(), depth,
        depth, [&](std::int64_t r, std::int64_t n, Ints sum) __attribute__((always_inline)) {
          float* const at = mixed + r * depth + n;
          const RowStates& of = states[r / kWidth];
          store(at, fma(load(at), broadcast(of.old_scale[r % kWidth]),
                        to_floats(sum) * broadcast(of.new_factor[r % kWidth])));
        });
  }
  for (std::int64_t r = 0; r < count; ++r)
    put(mixed + r * depth, states[r / kWidth].total[r % kWidth], head.dim, rows[r].out);
  return true;
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
