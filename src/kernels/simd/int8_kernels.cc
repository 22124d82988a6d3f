// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include "kernels/simd/int8_kernels.h"

#include "kernels/simd/int8_gemm.h"
#include "kernels/simd/int8_gemv.h"
#include "kernels/simd/int8_palettes.h"
#include "kernels/simd/int8_row_stats.h"
#include "kernels/simd/int8_split.h"
#include "kernels/simd/int8_split_rows.h"

namespace anemone::kernels::simd::int8_split {
namespace {

bool takes(const Matrix& matrix) {
  switch (matrix.form) {
    case Matrix::Form::kHalf:
      return true;
    case Matrix::Form::kInt8:
      return matrix.has_row_scale() || matrix.block_k % 16 == 0;
    case Matrix::Form::kInt4:
      return matrix.k % 2 == 0 && (matrix.has_row_scale() || matrix.block_k % 32 == 0);
    case Matrix::Form::kPalette:
      return matrix.k * matrix.bits % 8 == 0 && matrix.bits >= 4;
    case Matrix::Form::kFloat:
      return false;
  }
  return false;
}

template <std::int64_t kOfBytes, std::int64_t kOfOthers>
std::int64_t gemv_columns(const Matrix& matrix) {
  return is_int8_row(matrix) ? kOfBytes : kOfOthers;
}

// `kByLanes`: whether eight columns of int8 are multiplied by lanes, which needs the rows' sums.
template <bool kByLanes>
std::int64_t needed_row_stats_bytes(const Matrix& matrix, std::int64_t n) {
  const bool is_by_lanes = kByLanes && n > kInt8GemvColumns / 2 && n <= kInt8GemvColumns;
  return is_int8_row(matrix) && !is_by_lanes ? 0 : row_stats_bytes(matrix);
}

constexpr Int8Kernels vnni_kernels() {
  return {.gemv_columns = gemv_columns<kInt8GemvColumns, kInt8GemvColumns>,
          .takes = takes,
          .row_stats_bytes = needed_row_stats_bytes<true>,
          .compute_row_stats = compute_row_stats,
          .gemv_pack_bytes = gemv_pack_bytes,
          .gemv_pack = gemv_pack,
          .gemv_scratch_bytes = gemv_scratch_bytes,
          .gemv = gemv<true, vnni::gemv_palettes>,
          .gemm_pack_bytes = gemm_pack_bytes,
          .gemm_pack = gemm_pack,
          .gemm_scratch_bytes = vnni_gemm_scratch_bytes,
          .gemm = vnni_gemm<vnni::expand_palettes>};
}

constexpr Int8Kernels vbmi_kernels() {
  Int8Kernels kernels = vnni_kernels();
  kernels.gemv = gemv<true, vbmi::gemv_palettes>;
  kernels.gemm = vnni_gemm<vbmi::expand_palettes>;
  return kernels;
}

// Zen loads two vectors per cycle, and shuffles beside two multiplications: there shuffled copies
// of the weights are cheaper than loaded ones. For int8 per row gemv() is then as fast as gemm() of
// many columns, which copies the weights first; for other forms up to twelve columns, for which
// gemm() takes as long as for sixteen.
constexpr Int8Kernels zen_kernels() {
  Int8Kernels kernels = vbmi_kernels();
  kernels.gemv_columns = gemv_columns<32, 12>;
  kernels.row_stats_bytes = needed_row_stats_bytes<false>;
  return kernels;
}

constexpr Int8Kernels amx_kernels() {
  Int8Kernels kernels = vbmi_kernels();
  kernels.row_stats_bytes = needed_row_stats_bytes<false>;
  kernels.gemv_columns = gemv_columns<4, 4>;  // tiles take sixteen columns in the time of one
  kernels.gemv = gemv<false, vbmi::gemv_palettes>;
  kernels.gemm_pack = amx_gemm_pack;
  kernels.gemm_scratch_bytes = amx_gemm_scratch_bytes;
  kernels.gemm = amx_gemm;
  return kernels;
}

}  // namespace

constinit const Int8Kernels kVnniKernels = vnni_kernels();
constinit const Int8Kernels kVbmiKernels = vbmi_kernels();
constinit const Int8Kernels kZenKernels = zen_kernels();
constinit const Int8Kernels kAmxKernels = amx_kernels();

}  // namespace anemone::kernels::simd::int8_split
#endif
