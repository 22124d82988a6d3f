// SPDX-License-Identifier: Apache-2.0
// The loops over the rows of a block that gemv() has for each form of weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/simd/int8_gemv_deep.h"
#include "kernels/simd/int8_gemv_lanes.h"
#include "kernels/simd/int8_gemv_rows.h"
#include "kernels/simd/int8_gemv_wide.h"
#include "kernels/simd/int8_row_stats.h"

namespace anemone::kernels::simd::int8_split {

// The rows of a block.
template <typename Row>
class Rows {
 public:
  Rows(const Matrix& m, const RowBlock& block, std::int64_t begin)
      : matrix_(m), block_(block), begin_(begin) {}
  [[gnu::always_inline]] Row at(std::int64_t r) const { return Row(matrix_, block_, begin_, r); }
  // The sums of the integers of rows, from row `r` on.
  const std::int32_t* sums(std::int64_t r) const { return row_sums(matrix_) + begin_ + r; }

 private:
  const Matrix& matrix_;
  const RowBlock& block_;
  const std::int64_t begin_;
};

template <typename Row, typename Products>
void multiply_rows(const Matrix& m, std::int64_t begin, std::int64_t end,
                   const GemvColumns& columns, const GemvTarget& target) {
  constexpr std::int64_t kGroup = Products::kRows;
  const RowBlock block(m, begin, end, Row::kHasBlockSums, target.scratch);
  const Rows<Row> rows(m, block, begin);
  Products products(m, columns);
  for (std::int64_t first = 0; first < end - begin; first += kGroup)
    products.multiply(rows, first, std::min(kGroup, end - begin - first), m.k,
                      block.scales() + first, target.out + first, target.ldo);
}

template <typename Row>
void multiply_columns(const Matrix& m, std::int64_t begin, std::int64_t end,
                      const GemvColumns& columns, const GemvTarget& target) {
  switch (columns.places()) {
    case 1:
      return multiply_rows<Row, DeepProducts<Row, 1>>(m, begin, end, columns, target);
    case 2:
      return multiply_rows<Row, DeepProducts<Row, 2>>(m, begin, end, columns, target);
    case 4:
      return multiply_rows<Row, WideProducts<Row, 4>>(m, begin, end, columns, target);
    default:
      if constexpr (std::is_same_v<Row, BytesRow>)
        if (columns.is_by_lanes())
          return multiply_rows<Row, LaneProducts>(m, begin, end, columns, target);
      return multiply_rows<Row, WideProducts<Row, 8>>(m, begin, end, columns, target);
  }
}

}  // namespace anemone::kernels::simd::int8_split
