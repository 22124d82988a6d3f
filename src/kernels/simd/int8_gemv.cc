// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include "kernels/simd/int8_gemv.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <type_traits>

#include "kernels/simd/int8_gemv_deep.h"
#include "kernels/simd/int8_gemv_palettes.h"
#include "kernels/simd/int8_gemv_rows.h"
#include "kernels/simd/int8_gemv_wide.h"

namespace anemone::kernels::simd::int8_split {
namespace {

struct Target {
  float* out;
  std::int64_t ldo;
  std::byte* scratch;
};

// The rows of a block.
template <typename Row>
class Rows {
 public:
  Rows(const Matrix& m, const RowBlock& block, std::int64_t begin)
      : matrix_(m), block_(block), begin_(begin) {}
  [[gnu::always_inline]] Row at(std::int64_t r) const { return Row(matrix_, block_, begin_, r); }

 private:
  const Matrix& matrix_;
  const RowBlock& block_;
  const std::int64_t begin_;
};

template <typename Row, typename Products>
void multiply_rows(const Matrix& m, std::int64_t begin, std::int64_t end,
                   const GemvColumns& columns, const Target& target) {
  constexpr std::int64_t kGroup = Products::kRows;
  const RowBlock block(m, begin, end, Row::kHasBlockSums, target.scratch);
  const Rows<Row> rows(m, block, begin);
  Products products(columns);
  for (std::int64_t first = 0; first < end - begin; first += kGroup)
    products.multiply(rows, first, std::min(kGroup, end - begin - first), m.k,
                      block.scales() + first, target.out + first, target.ldo);
}

template <bool kHasBlockSums, int kDepth>
using Int8BlockRow =
    std::conditional_t<kHasBlockSums, Int8BlockSumsRow<kDepth>, Int8BlockPartsRow<kDepth>>;

template <typename Row>
void multiply_columns(const Matrix& m, std::int64_t begin, std::int64_t end,
                      const GemvColumns& columns, const Target& target) {
  switch (columns.places()) {
    case 1:
      return multiply_rows<Row, DeepProducts<Row, 1>>(m, begin, end, columns, target);
    case 2:
      return multiply_rows<Row, DeepProducts<Row, 2>>(m, begin, end, columns, target);
    case 4:
      return multiply_rows<Row, WideProducts<Row, 4>>(m, begin, end, columns, target);
    default:
      return multiply_rows<Row, WideProducts<Row, 8>>(m, begin, end, columns, target);
  }
}

}  // namespace

std::int64_t gemv_scratch_bytes(const Matrix& matrix) {
  return row_scratch_bytes(matrix);
}

template <bool kHasBlockSums>
void gemv(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::byte* packed,
          float* out, std::int64_t ldo, std::byte* scratch) {
  const auto& columns = *std::launder(reinterpret_cast<const GemvColumns*>(packed));
  const Target target{out, ldo, scratch};
  if (matrix.form == Matrix::Form::kInt8 && matrix.has_row_scale())
    return multiply_columns<BytesRow>(matrix, begin, end, columns, target);
  if (is_int8_block(matrix)) {
    if (sum_depth(matrix) == 32)
      return multiply_columns<Int8BlockRow<kHasBlockSums, 32>>(matrix, begin, end, columns, target);
    return multiply_columns<Int8BlockRow<kHasBlockSums, 16>>(matrix, begin, end, columns, target);
  }
  if (is_int4_block(matrix)) {
    using Row = std::conditional_t<kHasBlockSums, Int4BlockSumsRow, Int4BlockRow>;
    return multiply_columns<Row>(matrix, begin, end, columns, target);
  }
  if (matrix.form == Matrix::Form::kInt4)
    return multiply_columns<NibblesRow>(matrix, begin, end, columns, target);
  if (matrix.form == Matrix::Form::kPalette) {
    if (matrix.bits == 4)
      return multiply_columns<Palette16Row>(matrix, begin, end, columns, target);
    if (matrix.bits == 6)
      return multiply_columns<Palette64Row>(matrix, begin, end, columns, target);
    return multiply_columns<Palette256Row>(matrix, begin, end, columns, target);
  }
  multiply_columns<HalvesRow>(matrix, begin, end, columns, target);
}

template void gemv<true>(const Matrix&, std::int64_t, std::int64_t, const std::byte*, float*,
                         std::int64_t, std::byte*);
template void gemv<false>(const Matrix&, std::int64_t, std::int64_t, const std::byte*, float*,
                          std::int64_t, std::byte*);

}  // namespace anemone::kernels::simd::int8_split
#endif
