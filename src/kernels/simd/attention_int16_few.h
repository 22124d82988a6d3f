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

// The most rows of attend_few(), in whole sixteens.
constexpr std::int64_t kFewRows = kGroupRows;

// The softmax of a row so far.
struct RowState {
  float factor;  // of the scores
  float top;
  float total;
  float old_scale;   // of the sums before the block
  float new_factor;  // of the sums of the block
};

// Scores [count] of a row become weights: pairs [count / 2] of two positions. Those before `begin`
// and from `end` on are of positions that it does not attend to.
inline void weigh_row(RowState& row, const float* value_factors, std::int64_t begin,
                      std::int64_t end, std::int64_t count, float* scores, Pair* weights) {
  for (std::int64_t s = 0; s < begin; ++s) scores[s] = kHidden;
  for (std::int64_t s = end; s < count; ++s) scores[s] = kHidden;
  Floats tops = broadcast(row.top);
  for (std::int64_t s = 0; s < count; s += kWidth) tops = max(tops, load(scores + s));
  const Floats top = broadcast(highest(tops));
  Floats totals{};
  Floats sums{};
  for (std::int64_t s = 0; s < count; s += kWidth) {
    const Floats score = load(scores + s);
    const Floats weight =
        score == broadcast(kHidden) ? Floats{} : power_of_2(score - top, kLowestPower);
    const Floats scaled = weight * load(value_factors + s);
    store(scores + s, scaled);
    totals += weight;
    sums += scaled;
  }
  const Floats all = broadcast(sum(sums));
  const Floats scale = weight_scale(all);
  __m512i integers = _mm512_setzero_si512();
  for (std::int64_t s = 0; s < count; s += kWidth) {
    const __m512i some = rounded(load(scores + s), scale);
    const __m256i pairs = _mm512_cvtepi32_epi16(some);
    std::memcpy(weights + s / 2, &pairs, sizeof(pairs));
    integers = _mm512_add_epi32(integers, some);
  }
  const Floats old_scale = power_of_2(broadcast(row.top) - top, kLowestPower);
  row.old_scale = old_scale[0];
  const __m512i all_integers = _mm512_set1_epi32(_mm512_reduce_add_epi32(integers));
  row.new_factor = weight_factor(all, all_integers, count)[0];
  row.top = top[0];
  row.total = fma(broadcast(row.total), old_scale, broadcast(sum(totals)))[0];
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
  Pair* const queries = memory.pairs(kFewRows * depth / 2);    // [rows, depth / 2]
  float* const mixed = memory.floats(count * depth);           // [rows, depth]
  float* const scores = memory.floats(count * kPositions);     // [rows, kPositions]
  Pair* const weights = memory.pairs(count * kPositions / 2);  // [rows, kPositions / 2]
  float* const one = memory.floats(depth);
  RowState states[kFewRows];
  for (std::int64_t r = 0; r < count; r += kWidth) {
    const std::int64_t left = count - r < kWidth ? count - r : kWidth;
    const Queries some(head, rows + r, left);
    to_pairs(some.numbers, some.inverses, queries + r * depth / 2);
    for (int i = 0; i < left; ++i) {
      const float* const sink = rows[r + i].sink;
      states[r + i] = {some.factors[i], sink == nullptr ? kHidden : *sink * kLog2E,
                       sink == nullptr ? 0.0f : 1.0f, 1, 0};
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
          store(scores + r * kPositions + n,
                to_floats(sum) * load(block.key_factors() + n) * broadcast(states[r].factor));
        });
    if (block.has_offset())
      for (std::int64_t r = 0; r < count; ++r)
        add_row_offset(rows[r], block, head.factor * kLog2E, positions, scores + r * kPositions);
    for (std::int64_t r = 0; r < count; ++r)
      weigh_row(states[r], block.value_factors(), first, last, positions, scores + r * kPositions,
                weights + r * kPositions / 2);
    multiply_pairs(
        {weights, kPositions / 2, 1}, count, positions / 2, block.values(), depth,
        depth, [&](std::int64_t r, std::int64_t n, Ints sum) __attribute__((always_inline)) {
          float* const at = mixed + r * depth + n;
          store(at, fma(load(at), broadcast(states[r].old_scale),
                        to_floats(sum) * broadcast(states[r].new_factor)));
        });
  }
  for (std::int64_t r = 0; r < count; ++r)
    put(mixed + r * depth, 1, states[r].total, head.dim, one, rows[r].out);
  return true;
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
