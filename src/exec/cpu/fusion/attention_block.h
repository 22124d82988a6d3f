// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/fusion/scratch.h"
#include "kernels/simd/kernels.h"

namespace anemone::exec {

// The rows that Kernels::attend_many() takes together, which lie transposed there: set a query for
// each of rows() rows, and `runs`; attend; take what rows are wanted. Not thread-safe.
class AttentionBlock {
 public:
  // At least `wanted` rows, 1 to kAttendRows. The memory is the scratch's until its next use.
  AttentionBlock(const kernels::simd::Kernels& kernels, Scratch& scratch, std::int64_t dim,
                 std::int64_t wanted)
      : kernels_(kernels),
        dim_(dim),
        queries_(
            scratch.take<float>((2 * kRows + 1) * dim + kernels::simd::attend_many_scratch(dim))),
        mixed_(queries_ + kRows * dim),
        row_(mixed_ + kRows * dim) {
    runs.rows = (wanted + 15) / 16 * 16;
  }

  kernels::simd::AttentionRuns runs;
  std::int64_t rows() const { return runs.rows; }

  // factor * q, fp16 [dim], as query r.
  void set_query(std::int64_t r, const Half* q, float factor) {
    kernels_.to_floats(q, row_, dim_);
    for (std::int64_t d = 0; d < dim_; ++d) queries_[d * kRows + r] = row_[d] * factor;
  }
  void attend(const kernels::simd::AttentionHead& head) {
    kernels_.attend_many(head, queries_, runs, mixed_, row_ + dim_);
  }
  // Row r's result as fp16 [dim].
  void take(std::int64_t r, Half* out) {
    for (std::int64_t d = 0; d < dim_; ++d) row_[d] = mixed_[d * kRows + r];
    kernels_.to_halves(row_, out, dim_);
  }

 private:
  static constexpr std::int64_t kRows = kernels::simd::kAttendRows;
  const kernels::simd::Kernels& kernels_;
  const std::int64_t dim_;
  float* queries_;  // [dim, rows]
  float* mixed_;    // [dim, rows]
  float* row_;      // [dim], then the kernel's own
};

}  // namespace anemone::exec
