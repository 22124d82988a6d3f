// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/thread_pool.h"
#include "tensor/shape.h"

namespace anemone::kernels {

using Strides = std::vector<std::int64_t>;

// Strides that walk an operand of shape `from` over the shape `to` that it broadcasts to: 0 where
// it is repeated.
inline Strides broadcast_strides(const Shape& from, const Shape& to) {
  const Strides own = strides_of(from);
  Strides out(to.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1) out[to.size() - from.size() + i] = own[i];
  return out;
}

// Walks N operands over one row-major index space, a row of the innermost dimension at a time.
// Dimensions that all operands walk as one are joined first, so that dense operands are a single
// row.
template <std::size_t N>
class StridedRows {
 public:
  using Offsets = std::array<std::int64_t, N>;  // in elements, one per operand

  // One vector of strides per operand, each as long as the shape.
  StridedRows(const Shape& shape, const std::array<Strides, N>& strides) {
    bool is_empty = false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      is_empty |= shape[i] == 0;
      if (shape[i] == 1) continue;
      Dimension dimension{shape[i], {}};
      for (std::size_t n = 0; n < N; ++n) dimension.strides[n] = strides[n][i];
      if (!outer_.empty() && joins(outer_.back(), dimension))
        dimension.size *= outer_.back().size;
      else
        outer_.emplace_back();
      outer_.back() = dimension;
    }
    if (!outer_.empty()) {
      row_ = outer_.back();
      outer_.pop_back();
    }
    for (const Dimension& dimension : outer_) rows_ *= dimension.size;
    if (is_empty) rows_ = row_.size = 0;
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t row_length() const { return row_.size; }
  // Distance between neighbours in a row.
  std::int64_t row_stride(std::size_t operand) const { return row_.strides[operand]; }

  // Calls f(offsets of the first element, index of the row) for rows [begin, end).
  template <typename F>
  void for_rows(std::int64_t begin, std::int64_t end, F&& f) const {
    Offsets offsets{};
    std::vector<std::int64_t> index(outer_.size());
    std::int64_t rest = begin;
    for (std::size_t i = outer_.size(); i-- > 0;) {
      index[i] = rest % outer_[i].size;
      rest /= outer_[i].size;
      for (std::size_t n = 0; n < N; ++n) offsets[n] += index[i] * outer_[i].strides[n];
    }
    for (std::int64_t row = begin; row < end; ++row) {
      f(offsets, row);
      for (std::size_t i = outer_.size(); i-- > 0;) {
        const Dimension& dimension = outer_[i];
        for (std::size_t n = 0; n < N; ++n) offsets[n] += dimension.strides[n];
        if (++index[i] < dimension.size) break;
        for (std::size_t n = 0; n < N; ++n) offsets[n] -= dimension.size * dimension.strides[n];
        index[i] = 0;
      }
    }
  }

  // Calls f(offsets, length) for rows or parts of rows that together cover the space, on all
  // threads when there is enough to do.
  template <typename F>
  void parallel(ThreadPool& threads, F&& f) const {
    constexpr std::int64_t kGrain = 16384;  // elements for which waking a thread pays
    if (rows_ == 0 || row_.size == 0) return;
    if (rows_ == 1) {
      threads.parallel_for(row_.size, kGrain, [&](std::int64_t begin, std::int64_t end) {
        Offsets offsets;
        for (std::size_t n = 0; n < N; ++n) offsets[n] = begin * row_.strides[n];
        f(offsets, end - begin);
      });
      return;
    }
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / row_.size);
    threads.parallel_for(rows_, grain, [&](std::int64_t begin, std::int64_t end) {
      for_rows(begin, end, [&](const Offsets& offsets, std::int64_t) { f(offsets, row_.size); });
    });
  }

 private:
  struct Dimension {
    std::int64_t size = 1;
    std::array<std::int64_t, N> strides{};
  };

  static bool joins(const Dimension& outer, const Dimension& inner) {
    for (std::size_t n = 0; n < N; ++n)
      if (outer.strides[n] != inner.size * inner.strides[n]) return false;
    return true;
  }

  std::vector<Dimension> outer_;
  Dimension row_;
  std::int64_t rows_ = 1;
};

}  // namespace anemone::kernels
