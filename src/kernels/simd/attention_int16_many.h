// SPDX-License-Identifier: Apache-2.0
// Attention by products of int16 of many rows, which are the lanes of vectors.
#pragma once

#include "kernels/simd/attention_int16_block.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// Rows that are the lanes of vectors. Their queries, scores or sums, together with the keys or the
// values of a block, fit into the nearest cache.
constexpr std::int64_t kGroupRows = 2 * kWidth;
// Groups for which keys and values are made integers once.
constexpr std::int64_t kGroups = 512 / kGroupRows;

// Rows that are the lanes of vectors.
struct Group {
  const AttentionRow* rows;
  std::int64_t count;
  std::int64_t begin;  // the rows attend to some positions of [begin, end)
  std::int64_t end;
  std::int64_t open;  // and to all of [open, close)
  std::int64_t close;
  bool has_bias;
  Pair* queries;         // [depth / 2, kGroupRows]
  float* query_numbers;  // [depth, kGroupRows]
  float* mixed;          // [depth, kGroupRows]
  alignas(64) float factors[kGroupRows];
  float top[kGroupRows];
  float total[kGroupRows];
  Ints begins[kGroupRows / kWidth];
  Ints ends[kGroupRows / kWidth];
};

inline void make_group(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                       Memory& memory, Group& group) {
  const std::int64_t depth = int16_depth(head.dim);
  group.rows = rows;
  group.count = count;
  group.begin = group.open = rows[0].begin;
  group.end = group.close = rows[0].end;
  group.has_bias = false;
  group.queries = memory.pairs(depth / 2 * kGroupRows);
  group.query_numbers = memory.floats(depth * kGroupRows);
  group.mixed = memory.floats(depth * kGroupRows);
  for (std::int64_t r = 0; r < kGroupRows; ++r) {
    // Lanes that fill up a vector attend to what the last row does.
    const AttentionRow& row = rows[r < count ? r : count - 1];
    group.begin = row.begin < group.begin ? row.begin : group.begin;
    group.end = row.end > group.end ? row.end : group.end;
    group.open = row.begin > group.open ? row.begin : group.open;
    group.close = row.end < group.close ? row.end : group.close;
    group.has_bias = group.has_bias || row.bias != nullptr;
    group.top[r] = row.sink == nullptr ? kHidden : *row.sink * kLog2E;
    group.total[r] = row.sink == nullptr ? 0.0f : 1.0f;
    group.begins[r / kWidth][r % kWidth] = static_cast<int>(row.begin);
    group.ends[r / kWidth][r % kWidth] = static_cast<int>(row.end);
  }
  for (std::int64_t v = 0; v < kGroupRows; v += kWidth) {
    const std::int64_t left = count > v ? count - v : 0;
    const Queries queries(head, rows + v, left);
    store(group.factors + v, queries.factors);
    to_pair_columns(queries.numbers, queries.inverses, group.queries + v, kGroupRows);
    to_columns(queries.numbers, group.query_numbers + v, kGroupRows);
  }
  for (std::int64_t i = 0; i < depth * kGroupRows; i += kWidth) store(group.mixed + i, Floats{});
}

inline void add_bias(const Group& group, std::int64_t first, std::int64_t positions,
                     float* scores) {
  float row[kPositions];
  for (std::int64_t r = 0; r < group.count; ++r) {
    const AttentionRow& of = group.rows[r];
    if (of.bias == nullptr) continue;
    const std::int64_t some = of.end - first < positions ? of.end - first : positions;
    if (some > 0) to_floats(of.bias + first, row, some);
    for (std::int64_t k = 0; k < some; ++k) scores[k * kGroupRows + r] += row[k] * kLog2E;
  }
}

// Rows that attend to the first position of a block, for which its keys are less the offset, and
// rows that begin later in it.
enum class Part { kFromFirst, kFromLater };

inline bool attends(const Group& group, std::int64_t first, Part part) {
  return part == Part::kFromFirst ? group.begin <= first && group.end > first
                                  : group.open > first && group.begin < first + kPositions;
}

// Hides positions that rows do not attend to, and all of them from the rows of the other part.
template <int kVectors>
void hide_positions(const Group& group, Part part, std::int64_t first, std::int64_t positions,
                    float* scores) {
  Ints begins[kVectors];
  Ints ends[kVectors];
  unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
    const auto is_first = group.begins[v] <= static_cast<int>(first);
    const auto is_part = part == Part::kFromFirst ? is_first : ~is_first;
    begins[v] = group.begins[v];
    ends[v] = is_part ? group.ends[v] : Ints{};
  });
  for (std::int64_t k = 0; k < positions; ++k)
    unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
      const Ints at = Ints{} + static_cast<int>(first + k);
      float* const score = scores + k * kGroupRows + v * kWidth;
      const auto attended = (at >= begins[v]) & (at < ends[v]);
      store(score, attended ? load(score) : broadcast(kHidden));
    });
}

// Scores of `count` positions, which are whole vectors, of the rows of vector v become weights:
// pairs [count / 2, kGroupRows] of two positions. Gives what the sums so far are to be multiplied
// by, and what the sums of products with the weights.
template <bool kHides>
void weigh(Group& group, const float* value_factors, std::int64_t v, std::int64_t count,
           float* scores, Pair* weights, Floats& old_scale, Floats& new_factor) {
  const auto at = [&](std::int64_t k) { return scores + k * kGroupRows + v; };
  const Floats old_top = load(group.top + v);
  Floats tops[4] = {old_top, old_top, old_top, old_top};
  for (std::int64_t k = 0; k < count; k += 4)
    unroll<4>([&](auto i)
                  __attribute__((always_inline)) { tops[i] = max(tops[i], load(at(k + i))); });
  const Floats top = max(max(tops[0], tops[1]), max(tops[2], tops[3]));
  Floats totals[kWidth];
  Floats sums[kWidth];
  for (int i = 0; i < kWidth; ++i) {
    totals[i] = Floats{};
    sums[i] = Floats{};
    for (std::int64_t k = i; k < count; k += kWidth) {
      const Floats score = load(at(k));
      Floats weight = power_of_2(score - top);
      if constexpr (kHides) weight = score == broadcast(kHidden) ? Floats{} : weight;
      const Floats scaled = weight * broadcast(value_factors[k]);
      store(at(k), scaled);
      totals[i] += weight;
      sums[i] += scaled;
    }
  }
  for (int half = kWidth / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) {
      totals[i] += totals[i + half];
      sums[i] += sums[i + half];
    }
  const Floats scale = weight_scale(sums[0]);
  for (std::int64_t k = 0; k < count; k += 2) {
    const __m512i a = rounded(load(at(k)), scale);
    const __m512i b = rounded(load(at(k + 1)), scale);
    store_pairs(weights + k / 2 * kGroupRows + v, join(a, b));
  }
  old_scale = power_of_2(old_top - top);
  new_factor = weight_factor(sums[0]);
  store(group.top + v, top);
  store(group.total + v, fma(load(group.total + v), old_scale, totals[0]));
}

// The positions of a block for the rows of a group that belong to the part.
template <int kVectors>
void attend_block(Group& group, const Block& block, Part part, float factor, std::int64_t depth,
                  float* scores, Pair* weights) {
  const std::int64_t first = block.first();
  const std::int64_t end = group.end < block.end() ? group.end : block.end();
  const std::int64_t count = round_up(end - first, kWidth);
  Floats factors[kVectors];
  Floats offsets[kVectors];  // of the scores
  unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
    factors[v] = load(group.factors + v * kWidth);
    offsets[v] = Floats{};
    block.for_each_offset([&](std::int64_t d, float number) __attribute__((always_inline)) {
      offsets[v] = fma(load(group.query_numbers + d * kGroupRows + v * kWidth), broadcast(number),
                       offsets[v]);
    });
    offsets[v] *= broadcast(factor);
  });
  for (std::int64_t k = 0; k < count; k += 8)
    multiply_pair_tile<8, kVectors>(
        {block.keys() + k * depth / 2, depth / 2, 1}, depth / 2, group.queries,
        kGroupRows, [&](auto r, auto v, Ints sum) __attribute__((always_inline)) {
          store(
              scores + (k + r) * kGroupRows + v * kWidth,
              fma(to_floats(sum) * broadcast(block.key_factors()[k + r]), factors[v], offsets[v]));
        });
  if (group.has_bias) add_bias(group, first, end - first, scores);
  const bool hides_some = first < group.open || first + count > group.close;
  if (hides_some) hide_positions<kVectors>(group, part, first, count, scores);
  Floats scales[kVectors];
  unroll<kVectors>([&](auto v) {
    (hides_some ? weigh<true> : weigh<false>)(group, block.value_factors(), v * kWidth, count,
                                              scores, weights, scales[v], factors[v]);
  });
  for (std::int64_t d = 0; d < depth; d += 8)
    multiply_pair_tile<8, kVectors>(
        {block.values() + d, 1, depth}, count / 2, weights,
        kGroupRows, [&](auto r, auto v, Ints sum) __attribute__((always_inline)) {
          float* const mixed = group.mixed + (d + r) * kGroupRows + v * kWidth;
          store(mixed, fma(load(mixed), scales[v], to_floats(sum) * factors[v]));
        });
}

// Up to kGroups groups of rows. Gives false where a key or a value is not finite.
inline bool attend_many(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                        float* scratch) {
  const std::int64_t depth = int16_depth(head.dim);
  Memory memory(scratch);
  Block block(head, memory);
  float* const scores = memory.floats(kPositions * kGroupRows);
  Pair* const weights = memory.pairs(kPositions / 2 * kGroupRows);
  Group groups[kGroups];
  const std::int64_t all = (count + kGroupRows - 1) / kGroupRows;
  std::int64_t begin = rows[0].begin;
  std::int64_t end = rows[0].end;
  for (std::int64_t g = 0; g < all; ++g) {
    const std::int64_t left = count - g * kGroupRows;
    make_group(head, rows + g * kGroupRows, left < kGroupRows ? left : kGroupRows, memory,
               groups[g]);
    begin = groups[g].begin < begin ? groups[g].begin : begin;
    end = groups[g].end > end ? groups[g].end : end;
  }
  const float factor = head.factor * kLog2E;
  for (std::int64_t s = begin / kPositions * kPositions; s < end; s += kPositions)
    for (const Part part : {Part::kFromFirst, Part::kFromLater}) {
      std::int64_t from = kPositions;
      std::int64_t to = 0;
      for (std::int64_t g = 0; g < all; ++g) {
        if (!attends(groups[g], s, part)) continue;
        const std::int64_t first = groups[g].begin > s ? groups[g].begin - s : 0;
        const std::int64_t last = groups[g].end - s < kPositions ? groups[g].end - s : kPositions;
        from = first < from ? first : from;
        to = last > to ? last : to;
      }
      if (from >= to) continue;
      if (!block.load(s, from, to, part == Part::kFromFirst)) return false;
      for (std::int64_t g = 0; g < all; ++g)
        if (attends(groups[g], s, part))
          (groups[g].count <= kWidth ? attend_block<1> : attend_block<2>)(groups[g], block, part,
                                                                          factor, depth, scores,
                                                                          weights);
    }
  for (std::int64_t g = 0; g < all; ++g)
    for (std::int64_t r = 0; r < groups[g].count; ++r)
      put(groups[g].mixed + r, kGroupRows, groups[g].total[r], head.dim, scores,
          groups[g].rows[r].out);
  return true;
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
