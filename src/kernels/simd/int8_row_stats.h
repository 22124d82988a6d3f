// SPDX-License-Identifier: Apache-2.0
// Statistics of the rows of a matrix, which products in integers need and which are computed once:
// of fp16 the largest magnitude of each row, of int8 with a scale per row the sum of its integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd/matrix.h"

namespace anemone::kernels::simd::int8_split {

// Bytes of Matrix::row_stats for the whole matrix; 0 if its form needs none.
std::int64_t row_stats_bytes(const Matrix& matrix);
// Int8Kernels::compute_row_stats.
void compute_row_stats(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                       std::byte* stats);

inline const float* row_maxima(const Matrix& fp16) {
  return reinterpret_cast<const float*>(fp16.row_stats);
}
inline const std::int32_t* row_sums(const Matrix& int8) {
  return reinterpret_cast<const std::int32_t*>(int8.row_stats);
}

}  // namespace anemone::kernels::simd::int8_split
