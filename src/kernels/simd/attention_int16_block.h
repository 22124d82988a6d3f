// SPDX-License-Identifier: Apache-2.0
// Keys, values and queries of an attention by products of int16, as its loops take them, and what
// the loops have in common.
#pragma once

#include "kernels/simd/attention_int16.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// Positions of a block, which begins at a multiple of it.
constexpr std::int64_t kPositions = 64;

// Memory for vectors.
class Memory {
 public:
  explicit Memory(float* scratch) : at_(scratch) {}
  float* floats(std::int64_t count) {
    float* const at = at_;
    at_ += count;
    return at;
  }
  Pair* pairs(std::int64_t count) { return reinterpret_cast<Pair*>(floats(count)); }

 private:
  float* at_;
};

// Numbers of a key this many times as large as their mean magnitude make up the offset of a block.
constexpr float kOffsetMeans = 4;

// Keys and values of positions [first + begin, first + end), of kPositions that begin at `first`;
// others are zeros. Keys may be less an offset: that of position `first`, which must be among them.
class Block {
 public:
  Block(const AttentionHead& head, Memory& memory)
      : head_(head),
        depth_(int16_depth(head.dim)),
        keys_(memory.pairs(kPositions * depth_ / 2)),
        values_(memory.pairs(kPositions / 2 * depth_)),
        key_factors_(memory.floats(kPositions)),
        value_factors_(memory.floats(kPositions)),
        offset_(memory.floats(depth_)),
        offset_dims_(memory.pairs(depth_)) {}

  // Returns whether all are finite. Keys are pairs [kPositions, depth / 2].
  bool load(std::int64_t first, std::int64_t begin, std::int64_t end, bool has_offset) {
    return load_parts(
        first, begin, end, has_offset,
        [&](std::int64_t s, const auto& rows, const float* inverses)
            __attribute__((always_inline)) { to_pairs(rows, inverses, keys_ + s * depth_ / 2); });
  }
  // Keys are pairs [depth / 2, kPositions].
  bool load_transposed(std::int64_t first, std::int64_t begin, std::int64_t end, bool has_offset) {
    return load_parts(
        first, begin, end, has_offset,
        [&](std::int64_t s, const auto& rows, const float* inverses) __attribute__((
            always_inline)) { to_pair_columns(rows, inverses, keys_ + s, kPositions); });
  }

  std::int64_t first() const { return first_; }
  std::int64_t end() const { return first_ + end_; }
  const Pair* keys() const { return keys_; }
  const Pair* values() const { return values_; }  // of two positions: [kPositions / 2, depth]
  const float* key_factors() const { return key_factors_; }
  const float* value_factors() const { return value_factors_; }
  // Calls body(d, number) for the dimensions of the offset.
  template <typename Body>
  [[gnu::always_inline]] void for_each_offset(const Body& body) const {
    for (std::int64_t i = 0; i < offset_count_; ++i)
      body(offset_dims_[i], offset_[offset_dims_[i]]);
  }

 private:
  template <typename LoadKeys>
  bool load_parts(std::int64_t first, std::int64_t begin, std::int64_t end, bool has_offset,
                  const LoadKeys& load_keys) {
    first_ = first;
    end_ = end;
    const std::int64_t dim = head_.dim;
    offset_count_ = 0;
    if (has_offset) find_offset(head_.keys + first * dim);
    bool is_finite = true;
    for (std::int64_t s = 0; s < end; s += kWidth) {
      // The same positions of the next block.
      prefetch(head_.keys, (first + kPositions + s) * dim, kWidth * dim);
      prefetch(head_.values, (first + kPositions + s) * dim, kWidth * dim);
      const Half* const key = head_.keys + (first + s) * dim;
      const Half* const value = head_.values + (first + s) * dim;
      if (dim % (2 * kWidth) == 0 && s >= begin && s + kWidth <= end) {
        is_finite =
            load_rows(s, WholeRows{key, dim}, WholeRows{value, dim}, load_keys) && is_finite;
        continue;
      }
      SomeRows keys{{}, dim};
      SomeRows values{{}, dim};
      for (std::int64_t i = 0; i < kWidth; ++i) {
        if (s + i < begin || s + i >= end) continue;
        keys.rows[i] = key + i * dim;
        values.rows[i] = value + i * dim;
      }
      is_finite = load_rows(s, keys, values, load_keys) && is_finite;
    }
    return is_finite;
  }
  void find_offset(const Half* key) {
    const SomeRows rows{{key}, head_.dim};
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
  template <typename Rows, typename LoadKeys>
  bool load_rows(std::int64_t s, const Rows& keys, const Rows& values, const LoadKeys& load_keys) {
    const bool is_finite =
        offset_count_ == 0 ? load_key_rows(s, keys, load_keys)
                           : load_key_rows(s, OffsetRows<Rows>{keys, offset_, keys.dim}, load_keys);
    alignas(64) float inverses[kWidth];
    const Floats largest = largest_magnitudes(values);
    const Scales value(largest, kLargest);
    store(value_factors_ + s, value.factor);
    store(inverses, value.inverse);
    to_row_pairs(values, inverses, values_ + s / 2 * depth_);
    return is_finite && !has_not_finite(largest);
  }
  template <typename Rows, typename LoadKeys>
  bool load_key_rows(std::int64_t s, const Rows& keys, const LoadKeys& load_keys) {
    alignas(64) float inverses[kWidth];
    const Floats norm = norms(keys);
    const Scales key(norm, kNorm);
    store(key_factors_ + s, key.factor);
    store(inverses, key.inverse);
    load_keys(s, keys, inverses);
    return !has_not_finite(norm);
  }

  const AttentionHead& head_;
  std::int64_t depth_;
  Pair* keys_;
  Pair* values_;
  float* key_factors_;
  float* value_factors_;
  float* offset_;  // [depth]
  std::int32_t* offset_dims_;
  std::int64_t offset_count_ = 0;
  std::int64_t first_ = 0;
  std::int64_t end_ = 0;
};

// Queries of up to sixteen rows, and the factors of their scores as powers of 2, which are NaN for
// a query that is not finite.
struct Queries {
  Queries(const AttentionHead& head, const AttentionRow* rows, std::int64_t count)
      : numbers{{}, head.dim} {
    for (std::int64_t i = 0; i < kWidth && i < count; ++i) numbers.rows[i] = rows[i].query;
    const Floats norm = norms(numbers);
    const Scales scales(norm, kNorm);
    store(inverses, scales.inverse);
    factors = scales.factor * broadcast(head.factor * kLog2E) + (norm - norm);
  }

  SomeRows numbers;
  alignas(64) float inverses[kWidth];
  Floats factors;
};

// The score of a position that a row does not attend to: lower than any other.
constexpr float kHidden = -1e30f;
// Less of a weighted value than this is nothing in fp16. It keeps its inverse finite.
constexpr float kNothing = 1e-30f;

// What integers are multiplied by to become weights of a block whose sum is kNorm.
inline Floats weight_scale(Floats sum) {
  return sum > broadcast(kNothing) ? broadcast(kNorm) / sum : Floats{};
}
// What the sums of products with these are multiplied by.
inline Floats weight_factor(Floats sum) {
  return sum > broadcast(kNothing) ? sum * broadcast(1 / kNorm) : Floats{};
}

inline void put(const float* sums, std::int64_t stride, float total, std::int64_t dim, float* one,
                Half* out) {
  const float inverse = 1.0f / total;
  for (std::int64_t d = 0; d < dim; ++d) one[d] = sums[d * stride] * inverse;
  to_halves(one, out, dim);
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
