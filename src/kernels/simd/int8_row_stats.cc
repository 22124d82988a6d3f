// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include "kernels/simd/int8_row_stats.h"

#include "kernels/simd/int8_split.h"
#include "kernels/simd/int8_split_vectors.h"

namespace anemone::kernels::simd::int8_split {
namespace {

std::int32_t sum_of_row(const Matrix& matrix, std::int64_t r) {
  ProductSums sums;
  for (std::int64_t c = 0; c < matrix.k; c += 64) {
    const std::int64_t left = matrix.k - c;
    const __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    sums.add(_mm512_set1_epi8(1), _mm512_maskz_loadu_epi8(mask, matrix.row(r) + c));
  }
  return _mm512_reduce_add_epi32(sums.lanes());
}

}  // namespace

std::int64_t row_stats_bytes(const Matrix& matrix) {
  if (matrix.form == Matrix::Form::kHalf) return matrix.rows * std::int64_t{sizeof(float)};
  return is_int8_row(matrix) ? matrix.rows * std::int64_t{sizeof(std::int32_t)} : 0;
}

void compute_row_stats(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                       std::byte* stats) {
  if (matrix.form == Matrix::Form::kHalf) {
    auto* out = reinterpret_cast<float*>(stats);
    for (std::int64_t r = begin; r < end; ++r)
      out[r] = largest(reinterpret_cast<const Half*>(matrix.row(r)), matrix.k);
  } else if (is_int8_row(matrix)) {
    auto* out = reinterpret_cast<std::int32_t*>(stats);
    for (std::int64_t r = begin; r < end; ++r) out[r] = sum_of_row(matrix, r);
  }
}

}  // namespace anemone::kernels::simd::int8_split
#endif
