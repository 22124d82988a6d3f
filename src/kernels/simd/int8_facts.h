// SPDX-License-Identifier: Apache-2.0
// What products in integers need to know of a matrix beside its bytes, which is found once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd/matrix.h"

namespace anemone::kernels::simd::int8_split {

// Steps of the largest magnitude that two parts give.
inline constexpr float kTwoPartSteps = 127 * 128;

// What a sum of products with two parts of numbers up to `most` is to be multiplied with. An
// infinity has no parts, so a sum with it becomes NaN.
inline float two_part_scale(float most) {
  return 128 * (most + 0 * most) / kTwoPartSteps;
}

// Matrix::facts.
class MatrixFacts {
 public:
  explicit MatrixFacts(const Matrix& matrix) : matrix_(matrix) {}
  // Of the whole matrix; 0: its form has none.
  std::int64_t bytes() const;
  // Int8Kernels::find_facts().
  static void find(const Matrix& matrix, std::int64_t begin, std::int64_t end, std::byte* facts);

  // fp16: RowBlock::scales() of each row.
  const float* half_scales() const { return reinterpret_cast<const float*>(matrix_.facts); }
  // int8 with a scale per row: the sum of each row's integers.
  const std::int32_t* sums() const { return reinterpret_cast<const std::int32_t*>(matrix_.facts); }

 private:
  const Matrix& matrix_;
};

}  // namespace anemone::kernels::simd::int8_split
