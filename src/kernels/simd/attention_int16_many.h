// SPDX-License-Identifier: Apache-2.0
// Attention by products of int16 of many rows, which are the lanes of vectors.
#pragma once

#include "kernels/simd/attention_int16_block.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// Groups for which keys and values are made integers once.
constexpr std::int64_t kGroups = 512 / kGroupRows;
constexpr int kGroupVectors = kGroupRows / kWidth;

struct Int16Group : RowGroup {
  Pair* queries;         // [depth / 2, kGroupRows]
  float* query_numbers;  // [depth, kGroupRows]
  float* mixed;          // [depth, kGroupRows]
  alignas(64) float factors[kGroupRows];
  Ints begins[kGroupVectors];
  Ints ends[kGroupVectors];
};

inline void make_group(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                       Memory& memory, Half* copy, Int16Group& group) {
  const std::int64_t depth = int16_depth(head.dim);
  set_rows(group, rows, count, kLog2E);
  group.queries = memory.take<Pair>(depth / 2 * kGroupRows);
  group.query_numbers = memory.take<float>(depth * kGroupRows);
  group.mixed = memory.take<float>(depth * kGroupRows);
  for (std::int64_t r = 0; r < kGroupRows; ++r) {
    group.begins[r / kWidth][r % kWidth] = static_cast<std::int32_t>(group.row(r).begin);
    group.ends[r / kWidth][r % kWidth] = static_cast<std::int32_t>(group.row(r).end);
  }
  for (std::int64_t v = 0; v < count; v += kWidth) {
    const Queries queries(head, rows + v, count - v < kWidth ? count - v : kWidth, copy);
    store(group.factors + v, queries.factors);
    to_pair_columns(queries.numbers, queries.inverses, group.queries + v, kGroupRows);
    to_columns(queries.numbers, group.query_numbers + v, kGroupRows);
  }
  for (std::int64_t i = 0; i < depth * kGroupRows; i += kWidth) store(group.mixed + i, Floats{});
}

// Rows that a block is loaded for: if its first key makes up an offset, those that attend to that
// position, then those that begin later in the block, without the offset.
enum class Part { kAll, kFromFirst, kFromLater };

// The lanes whose rows belong to a part.
inline Ints lanes_of(const Int16Group& group, int v, std::int64_t first, Part part) {
  const Ints is_later = group.begins[v] > static_cast<std::int32_t>(first);
  return part == Part::kAll ? ~Ints{} : part == Part::kFromLater ? is_later : ~is_later;
}

// Whether rows of the part attend to a block.
inline bool has_rows(const Int16Group& group, std::int64_t first, Part part) {
  const auto last = static_cast<std::int32_t>(first + kPositions - 1);
  for (int v = 0; v < kGroupVectors; ++v) {
    const Ints attends =
        (group.begins[v] <= last) & (group.ends[v] > static_cast<std::int32_t>(first));
    const Ints lanes = attends & lanes_of(group, v, first, part);
    if (_mm512_test_epi32_mask((__m512i)lanes, (__m512i)lanes) != 0) return true;
  }
  return false;
}

// Hides positions that rows do not attend to, and all of them from the rows of other parts.
template <int kVectors>
void hide_positions(const Int16Group& group, Part part, std::int64_t first, std::int64_t positions,
                    float* scores) {
  Ints ends[kVectors];
  unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
    ends[v] = group.ends[v] & lanes_of(group, v, first, part);
  });
  for (std::int64_t k = 0; k < positions; ++k)
    unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
      const Ints at = Ints{} + static_cast<std::int32_t>(first + k);
      float* const score = scores + k * kGroupRows + v * kWidth;
      const auto attended = (at >= group.begins[v]) & (at < ends[v]);
      store(score, attended ? load(score) : broadcast(kHidden));
    });
}

// Scores of `count` positions, which are whole vectors, of the rows of vector v become weights:
// pairs [count / 2, kGroupRows] of two positions. Gives what the sums so far are to be multiplied
// by, and what the sums of products with the weights.
template <bool kHides>
void weigh(Int16Group& group, const float* value_factors, std::int64_t v, std::int64_t count,
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
      Floats weight = power_of_2(score - top, kLowest);
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
  __m512i integers = _mm512_setzero_si512();
  for (std::int64_t k = 0; k < count; k += 2) {
    const __m512i a = rounded(load(at(k)), scale);
    const __m512i b = rounded(load(at(k + 1)), scale);
    integers = _mm512_add_epi32(integers, _mm512_add_epi32(a, b));
    store_pairs(weights + k / 2 * kGroupRows + v, join(a, b));
  }
  old_scale = power_of_2(old_top - top, kLowest);
  new_factor = weight_factor(sums[0], integers, count);
  store(group.top + v, top);
  store(group.total + v, fma(load(group.total + v), old_scale, totals[0]));
}

// Adds the products of queries and offset to scores [count, kGroupRows].
template <int kVectors>
void add_offset(const Int16Group& group, const Block& block, float factor, std::int64_t count,
                float* scores) {
  Floats offsets[kVectors];
  unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
    offsets[v] = Floats{};
    block.for_each_offset([&](std::int64_t d, float number) __attribute__((always_inline)) {
      offsets[v] = fma(load(group.query_numbers + d * kGroupRows + v * kWidth), broadcast(number),
                       offsets[v]);
    });
    offsets[v] *= broadcast(-factor);
  });
  for (std::int64_t k = 0; k < count; ++k)
    unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
      float* const score = scores + k * kGroupRows + v * kWidth;
      store(score, fma(broadcast(block.offset_factors()[k]), offsets[v], load(score)));
    });
}

// The positions of a block for the rows of a group that belong to the part.
template <int kVectors>
void attend_block(Int16Group& group, const Block& block, Part part, float factor,
                  std::int64_t depth, float* scores, Pair* weights) {
  const std::int64_t first = block.first();
  const std::int64_t end = group.end < block.end() ? group.end : block.end();
  const std::int64_t count = round_up(end - first, kWidth);
  Floats factors[kVectors];
  unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
    factors[v] = load(group.factors + v * kWidth);
  });
  for (std::int64_t k = 0; k < count; k += 8)
    multiply_pair_tile<8, kVectors>(
        {block.keys() + k * depth / 2, depth / 2, 1}, depth / 2, group.queries,
        kGroupRows, [&](auto r, auto v, Ints sum) __attribute__((always_inline)) {
          store(scores + (k + r) * kGroupRows + v * kWidth,
                to_floats(sum) * broadcast(block.key_factors()[k + r]) * factors[v]);
        });
  if (block.has_offset()) add_offset<kVectors>(group, block, factor, count, scores);
  if (group.has_bias) add_bias(group, first, end - first, kLog2E, scores);
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

// Up to kGroups groups of rows. Gives true in is_special[r] for a row that attends to keys or
// values that are not finite, which has no result.
inline void attend_many(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                        float* scratch, bool* is_special) {
  const std::int64_t depth = int16_depth(head.dim);
  Memory memory(scratch);
  Block block(head, memory);
  float* const scores = memory.take<float>(kPositions * kGroupRows);
  Pair* const weights = memory.take<Pair>(kPositions / 2 * kGroupRows);
  float* const one = memory.take<float>(depth);
  Int16Group groups[kGroups];
  const std::int64_t all = (count + kGroupRows - 1) / kGroupRows;
  std::int64_t begin = rows[0].begin;
  std::int64_t end = rows[0].end;
  for (std::int64_t g = 0; g < all; ++g) {
    const std::int64_t left = count - g * kGroupRows;
    make_group(head, rows + g * kGroupRows, left < kGroupRows ? left : kGroupRows, memory,
               block.room_for_rows(), groups[g]);
    begin = groups[g].begin < begin ? groups[g].begin : begin;
    end = groups[g].end > end ? groups[g].end : end;
  }
  // Loads what rows of a part attend to, and computes those.
  const auto attend_part = [&](Part part) {
    const std::int64_t s = block.first();
    std::int64_t from = kPositions;
    std::int64_t to = 0;
    for (std::int64_t g = 0; g < all; ++g) {
      if (!has_rows(groups[g], s, part)) continue;
      const std::int64_t first = groups[g].begin > s ? groups[g].begin - s : 0;
      const std::int64_t last = groups[g].end - s < kPositions ? groups[g].end - s : kPositions;
      from = first < from ? first : from;
      to = last > to ? last : to;
    }
    if (from >= to) return;
    block.load(from, to);
    for (std::uint64_t left = block.not_finite(); left != 0; left &= left - 1) {
      const std::int64_t position = s + __builtin_ctzll(left);
      for (std::int64_t r = 0; r < count; ++r)
        is_special[r] |= rows[r].begin <= position && position < rows[r].end;
    }
    for (std::int64_t g = 0; g < all; ++g)
      if (has_rows(groups[g], s, part))
        (groups[g].count <= kWidth ? attend_block<1> : attend_block<2>)(groups[g], block, part,
                                                                        head.factor * kLog2E, depth,
                                                                        scores, weights);
  };
  for (std::int64_t s = begin / kPositions * kPositions; s < end; s += kPositions) {
    bool has_first = false;
    for (std::int64_t g = 0; g < all; ++g)
      has_first = has_first || has_rows(groups[g], s, Part::kFromFirst);
    block.begin(s, has_first);
    if (block.has_offset()) {
      attend_part(Part::kFromFirst);
      block.remove_offset();
      attend_part(Part::kFromLater);
    } else {
      attend_part(Part::kAll);
    }
  }
  for (std::int64_t g = 0; g < all; ++g)
    for (std::int64_t r = 0; r < groups[g].count; ++r) {
      for (std::int64_t d = 0; d < depth; ++d) one[d] = groups[g].mixed[d * kGroupRows + r];
      put(one, groups[g].total[r], head.dim, groups[g].rows[r].out);
    }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
