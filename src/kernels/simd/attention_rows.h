// SPDX-License-Identifier: Apache-2.0
// What attention by products of floats and of int16 have in common: blocks of positions, groups of
// rows, and which rows are computed together.
#pragma once

#include "kernels/simd/kernels.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// The score of a position that a row does not attend to: lower than any other.
constexpr float kHidden = -1e30f;
// A weight is e or 2 to at least the power of this: next to the largest weight that is nothing, and
// times a value it is still a normal number. Others take the processor long.
constexpr float kLowest = -60;

// Positions of a block, which begins at a multiple of it.
constexpr std::int64_t kPositions = 64;
// From so many rows on, rows are the lanes of vectors; with fewer, positions are. So many rows are
// taken at a time: their queries, scores or sums, together with the keys or the values of a block,
// fit into the nearest cache.
constexpr std::int64_t kGroupRows = 32;

// Rows that are the lanes of vectors.
struct RowGroup {
  const AttentionRow* rows;
  std::int64_t count;
  std::int64_t begin;  // the rows attend to some positions of [begin, end)
  std::int64_t end;
  std::int64_t open;  // and to all of [open, close)
  std::int64_t close;
  bool has_bias;
  float top[kGroupRows];
  float total[kGroupRows];

  // Lanes that fill up a vector are like the last row.
  const AttentionRow& row(std::int64_t r) const { return rows[r < count ? r : count - 1]; }
};

// `unit` is what scores are multiplied by.
inline void set_rows(RowGroup& group, const AttentionRow* rows, std::int64_t count, float unit) {
  group.rows = rows;
  group.count = count;
  group.begin = group.open = rows[0].begin;
  group.end = group.close = rows[0].end;
  group.has_bias = false;
  for (std::int64_t r = 0; r < kGroupRows; ++r) {
    const AttentionRow& row = group.row(r);
    group.begin = row.begin < group.begin ? row.begin : group.begin;
    group.end = row.end > group.end ? row.end : group.end;
    group.open = row.begin > group.open ? row.begin : group.open;
    group.close = row.end < group.close ? row.end : group.close;
    group.has_bias = group.has_bias || row.bias != nullptr;
    group.top[r] = row.sink == nullptr ? kHidden : *row.sink * unit;
    group.total[r] = row.sink == nullptr ? 0.0f : 1.0f;
  }
}

// To scores [positions, kGroupRows].
inline void add_bias(const RowGroup& group, std::int64_t first, std::int64_t positions, float unit,
                     float* scores) {
  float row[kPositions];
  for (std::int64_t r = 0; r < group.count; ++r) {
    const AttentionRow& of = group.rows[r];
    if (of.bias == nullptr) continue;
    const std::int64_t some = of.end - first < positions ? of.end - first : positions;
    if (some > 0) to_floats(of.bias + first, row, some);
    for (std::int64_t k = 0; k < some; ++k) scores[k * kGroupRows + r] += row[k] * unit;
  }
}

// Calls many(rows, count), with kMost rows at most, or few(rows, count), with fewer than kGroupRows
// that attend to the same positions without a bias.
template <std::int64_t kMost, typename Many, typename Few>
[[gnu::always_inline]] inline void attend_in_parts(const AttentionRow* rows, std::int64_t count,
                                                   const Many& many, const Few& few) {
  for (std::int64_t r = 0; r < count;) {
    const AttentionRow* const some = rows + r;
    const std::int64_t left = count - r;
    std::int64_t taken = 1;
    if (left >= kGroupRows || some->bias != nullptr) {
      taken = left < kMost ? left : kMost;
      many(some, taken);
    } else {
      while (taken < left && some[taken].begin == some->begin && some[taken].end == some->end &&
             some[taken].bias == nullptr)
        ++taken;
      few(some, taken);
    }
    r += taken;
  }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
