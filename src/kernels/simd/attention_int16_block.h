// SPDX-License-Identifier: Apache-2.0
// Keys, values and queries of an attention by products of int16, as its loops take them, and what
// the loops have in common.
#pragma once

#include "kernels/simd/attention_int16.h"
#include "kernels/simd/attention_rows.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

static_assert(kSize + kPositions / 2 < 1 << kBits);

// Numbers of a key this many times as large as their mean magnitude make up the offset of a block.
constexpr float kOffsetMeans = 4;

// The keys and values of a block of positions.
class Block {
 public:
  Block(const AttentionHead& head, Memory& memory)
      : head_(head),
        depth_(int16_depth(head.dim)),
        keys_(memory.take<Pair>(kPositions * depth_ / 2)),
        values_(memory.take<Pair>(kPositions / 2 * depth_)),
        offset_(memory.take<float>(depth_)),
        offset_dims_(memory.take<std::int32_t>(depth_)),
        rows_(memory.take<Half>(kWidth * depth_)) {}

  // The positions from `first` on. The key there makes up the offset, or there is none.
  void begin(std::int64_t first, bool has_offset) {
    first_ = first;
    offset_count_ = 0;
    if (has_offset) find_offset(head_.keys + first * head_.dim);
  }
  bool has_offset() const { return offset_count_ != 0; }
  void remove_offset() { offset_count_ = 0; }

  // Loads positions [first + begin, first + end); others are zeros, and those that are not finite.
  // Keys are pairs [kPositions, depth / 2].
  void load(std::int64_t begin, std::int64_t end) {
    load_parts(
        begin, end,
        [&](std::int64_t s, const auto& rows, const float* inverses)
            __attribute__((always_inline)) { to_pairs(rows, inverses, keys_ + s * depth_ / 2); });
  }
  // Keys are pairs [depth / 2, kPositions].
  void load_transposed(std::int64_t begin, std::int64_t end) {
    load_parts(
        begin, end,
        [&](std::int64_t s, const auto& rows, const float* inverses) __attribute__((
            always_inline)) { to_pair_columns(rows, inverses, keys_ + s, kPositions); });
  }

  // Room for [16, depth], which begin() and loads use, too.
  Half* room_for_rows() { return rows_; }

  std::int64_t first() const { return first_; }
  std::int64_t end() const { return first_ + end_; }
  const Pair* keys() const { return keys_; }
  const Pair* values() const { return values_; }  // of two positions: [kPositions / 2, depth]
  const float* key_factors() const { return key_factors_; }
  const float* value_factors() const { return value_factors_; }
  // Bit s: the key or the value of position first + s is not finite.
  std::uint64_t not_finite() const { return not_finite_; }

  // -1 for keys that are less the offset, 0 for others.
  const float* offset_factors() const { return offset_factors_; }
  // Calls body(d, number) for the dimensions of the offset.
  template <typename Body>
  [[gnu::always_inline]] void for_each_offset(const Body& body) const {
    for (std::int64_t i = 0; i < offset_count_; ++i)
      body(offset_dims_[i], offset_[offset_dims_[i]]);
  }

 private:
  void find_offset(const Half* key) {
    copy_row(key, head_.dim, rows_);
    const Rows rows{rows_, depth_};
    const auto magnitude = [&](std::int64_t d) {
      return (Floats)_mm512_abs_ps((__m512)rows.load(0, d));
    };
    Floats sums{};
    for (std::int64_t d = 0; d < depth_; d += kWidth) sums += magnitude(d);
    const float mean = sum(sums) / static_cast<float>(head_.dim);
    const Floats limit = broadcast(kOffsetMeans * mean);
    for (std::int64_t d = 0; d < depth_; d += kWidth) {
      const __mmask16 is_large =
          _mm512_cmp_ps_mask((__m512)magnitude(d), (__m512)limit, _CMP_GT_OQ);
      store(offset_ + d, (Floats)_mm512_maskz_mov_ps(is_large, (__m512)rows.load(0, d)));
      for (unsigned left = is_large; left != 0; left &= left - 1)
        offset_dims_[offset_count_++] = static_cast<std::int32_t>(d) + __builtin_ctz(left);
    }
  }

  // The sixteen rows of data from position s on, where they lie or as a copy, in which zeros stand
  // for what is not in [begin, end).
  Rows rows_at(const Half* data, std::int64_t s, std::int64_t begin, std::int64_t end) const {
    const std::int64_t dim = head_.dim;
    const Half* const first = data + (first_ + s) * dim;
    if (dim == depth_ && s >= begin && s + kWidth <= end) return {first, depth_};
    for (std::int64_t i = 0; i < kWidth; ++i)
      copy_row(s + i < begin || s + i >= end ? nullptr : first + i * dim, dim, rows_ + i * depth_);
    return {rows_, depth_};
  }

  template <typename LoadKeys>
  void load_parts(std::int64_t begin, std::int64_t end, const LoadKeys& load_keys) {
    end_ = end;
    not_finite_ = 0;
    alignas(64) float inverses[kWidth];
    for (std::int64_t s = 0; s < end; s += kWidth) {
      // The same positions of the next block.
      prefetch(head_.keys, (first_ + kPositions + s) * head_.dim, kWidth * head_.dim);
      prefetch(head_.values, (first_ + kPositions + s) * head_.dim, kWidth * head_.dim);
      const Rows keys = rows_at(head_.keys, s, begin, end);
      const Floats squares = find_squared_norms(s, keys);
      const Scales key = Scales::of_squared_norms(squares);
      store(key_factors_ + s, key.factor);
      store(inverses, key.inverse);
      if (has_offset())
        load_keys(s, OffsetRows{keys, offset_, offset_factors_ + s}, inverses);
      else
        load_keys(s, keys, inverses);
      const Rows values = rows_at(head_.values, s, begin, end);
      const Floats largest = largest_magnitudes(values);
      const Scales value = Scales::of_largest(largest);
      store(value_factors_ + s, value.factor);
      store(inverses, value.inverse);
      to_row_pairs(values, inverses, values_ + s / 2 * depth_);
      const unsigned finite = finite_ones(squares) & finite_ones(largest);
      not_finite_ |= std::uint64_t{finite ^ 0xffffu} << s;
    }
  }
  // Chooses which keys are less the offset.
  Floats find_squared_norms(std::int64_t s, const Rows& keys) {
    const Floats squares = squared_norms(keys);
    if (!has_offset()) return squares;
    const Floats less = broadcast(-1);
    store(offset_factors_ + s, less);
    const Floats rest = squared_norms(OffsetRows{keys, offset_, offset_factors_ + s});
    store(offset_factors_ + s, rest < squares ? less : Floats{});
    return rest < squares ? rest : squares;
  }

  const AttentionHead& head_;
  std::int64_t depth_;
  Pair* keys_;
  Pair* values_;
  float* offset_;  // [depth]
  std::int32_t* offset_dims_;
  Half* rows_;  // [16, depth], for copies
  std::int64_t offset_count_ = 0;
  std::int64_t first_ = 0;
  std::int64_t end_ = 0;
  std::uint64_t not_finite_ = 0;
  alignas(64) float key_factors_[kPositions];
  alignas(64) float value_factors_[kPositions];
  alignas(64) float offset_factors_[kPositions];
};

// Queries of up to sixteen rows, and the factors of their scores as powers of 2, which are NaN for
// a query that is not finite.
struct Queries {
  // `copy` has room for [16, depth].
  Queries(const AttentionHead& head, const AttentionRow* rows, std::int64_t count, Half* copy)
      : numbers{copy, int16_depth(head.dim)} {
    for (std::int64_t i = 0; i < kWidth; ++i)
      copy_row(i < count ? rows[i].query : nullptr, head.dim, copy + i * numbers.depth);
    const Floats norm = sqrt(squared_norms(numbers));
    store(inverses, norm > Floats{} ? broadcast(kSize) / norm : Floats{});
    factors = norm * broadcast(head.factor * kLog2E / kSize) + (norm - norm);
  }

  Rows numbers;
  alignas(64) float inverses[kWidth];
  Floats factors;
};

// Less of a weighted value than this is nothing in fp16. It keeps its inverse finite.
constexpr float kNothing = 1e-30f;

// What integers are multiplied by to become weights of a block whose sum is kSize.
inline Floats weight_scale(Floats sum) {
  return sum > broadcast(kNothing) ? broadcast(kSize) / sum : Floats{};
}
// What the sums of products with these are multiplied by, from the sum of their `count` numbers as
// rounded() gives them: as much as rounding takes from some or adds to them goes to all.
inline Floats weight_factor(Floats sum, __m512i integers, std::int64_t count) {
  const __m512i none = _mm512_mullo_epi32(rounded(Floats{}, Floats{}),
                                          _mm512_set1_epi32(static_cast<std::int32_t>(count)));
  const Floats all = to_floats((Ints)_mm512_sub_epi32(integers, none));
  return sum > broadcast(kNothing) ? sum / all : Floats{};
}

// Gives the result of a row from its sums [depth], which it uses up.
inline void put(float* sums, float total, std::int64_t dim, Half* out) {
  const Floats inverse = broadcast(1.0f / total);
  // Adding 0 makes 0 of -0: a row has one or the other by whether it goes through blocks of others.
  for (std::int64_t d = 0; d < dim; d += kWidth)
    store(sums + d, load(sums + d) * inverse + Floats{});
  to_halves(sums, out, dim);
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
