// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include "kernels/simd/int8_gemv.h"

#include <cstdint>
#include <new>
#include <type_traits>

#include "kernels/simd/int8_gemv_products.h"
#include "kernels/simd/int8_palettes.h"

namespace anemone::kernels::simd::int8_split {
namespace {

template <bool kHasBlockSums, int kDepth>
using Int8BlockRow =
    std::conditional_t<kHasBlockSums, Int8BlockSumsRow<kDepth>, Int8BlockPartsRow<kDepth>>;

}  // namespace

std::int64_t gemv_scratch_bytes(const Matrix& matrix) {
  return row_scratch_bytes(matrix);
}

template <bool kHasBlockSums, GemvPalettes kPalettes>
void gemv(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::byte* packed,
          float* out, std::int64_t ldo, std::byte* scratch) {
  const auto& columns = *std::launder(reinterpret_cast<const GemvColumns*>(packed));
  const GemvTarget target{out, ldo, scratch};
  if (is_int8_row(matrix)) return multiply_columns<BytesRow>(matrix, begin, end, columns, target);
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
    return kPalettes(matrix, begin, end, columns, target);
  }
  multiply_columns<HalvesRow>(matrix, begin, end, columns, target);
}

template void gemv<true, vnni::gemv_palettes>(const Matrix&, std::int64_t, std::int64_t,
                                              const std::byte*, float*, std::int64_t, std::byte*);
template void gemv<true, vbmi::gemv_palettes>(const Matrix&, std::int64_t, std::int64_t,
                                              const std::byte*, float*, std::int64_t, std::byte*);
template void gemv<false, vbmi::gemv_palettes>(const Matrix&, std::int64_t, std::int64_t,
                                               const std::byte*, float*, std::int64_t, std::byte*);

}  // namespace anemone::kernels::simd::int8_split
#endif
