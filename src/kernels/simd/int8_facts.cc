// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include "kernels/simd/int8_facts.h"

#include "kernels/simd/int8_split.h"
#include "kernels/simd/int8_split_vectors.h"

namespace anemone::kernels::simd::int8_split {
namespace {

float largest_of_row(const Matrix& matrix, std::int64_t r) {
  const auto* row = reinterpret_cast<const Half*>(matrix.row(r));
  __m512 most = _mm512_setzero_ps();
  for (std::int64_t c = 0; c < matrix.k; c += 16)
    most = _mm512_max_ps(most, _mm512_abs_ps(load_some(row + c, matrix.k - c)));
  return _mm512_reduce_max_ps(most);
}

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

std::int64_t MatrixFacts::bytes() const {
  if (matrix_.form == Matrix::Form::kHalf) return matrix_.rows * std::int64_t{sizeof(float)};
  return is_int8_row(matrix_) ? matrix_.rows * std::int64_t{sizeof(std::int32_t)} : 0;
}

void MatrixFacts::find(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                       std::byte* facts) {
  if (matrix.form == Matrix::Form::kHalf) {
    auto* out = reinterpret_cast<float*>(facts);
    for (std::int64_t r = begin; r < end; ++r) out[r] = two_part_scale(largest_of_row(matrix, r));
  } else if (is_int8_row(matrix)) {
    auto* out = reinterpret_cast<std::int32_t*>(facts);
    for (std::int64_t r = begin; r < end; ++r) out[r] = sum_of_row(matrix, r);
  }
}

}  // namespace anemone::kernels::simd::int8_split
#endif
