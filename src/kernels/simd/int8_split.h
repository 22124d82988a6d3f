// SPDX-License-Identifier: Apache-2.0
// Blocks of activations as int8 parts, which gemm() of Int8Kernels multiplies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd/int8_kernels.h"
#include "kernels/simd/matrix.h"

namespace anemone::kernels::simd::int8_split {

inline constexpr std::int64_t blocks_of(std::int64_t n) {
  return (n + kInt8BlockColumns - 1) / kInt8BlockColumns;
}
inline bool is_int4_block(const Matrix& matrix) {
  return matrix.form == Matrix::Form::kInt4 && !matrix.has_row_scale();
}
inline bool is_int8_row(const Matrix& matrix) {
  return matrix.form == Matrix::Form::kInt8 && matrix.has_row_scale();
}
inline bool is_int8_block(const Matrix& matrix) {
  return matrix.form == Matrix::Form::kInt8 && !matrix.has_row_scale();
}
// Neighbouring elements of a row whose products VNNI adds up before it multiplies the sum by their
// scale: those of a scale block, or an equal part of it. 0: the scale is the same for all of a row.
inline std::int64_t sum_depth(const Matrix& matrix) {
  if (is_int4_block(matrix)) return 32;
  if (is_int8_block(matrix)) return matrix.block_k % 32 == 0 ? 32 : 16;
  return 0;
}
// What is added to int8 parts to make unsigned bytes of them.
inline constexpr int kUnsignedOffset = 128;
// What VNNI adds to such integers, so that they have no sign.
inline int sum_offset(const Matrix& matrix) {
  return matrix.form == Matrix::Form::kInt4 ? 8 : 128;
}

// A block of so many columns or fewer is narrow for AMX: the high parts of its columns are the
// first half of the tiles of `high`, and their low parts the second half, so that a product with a
// tile of weights gives both.
inline constexpr std::int64_t kNarrowColumns = 8;

// Where the parts of a block's columns lie in the bytes that gemm_pack() writes. A view.
struct SplitBlock {
  static constexpr std::int64_t parts_bytes(std::int64_t k) {  // all high ones or all low ones
    return kInt8BlockColumns * round_up(k, 64);
  }
  static constexpr std::int64_t offsets_bytes(std::int64_t count) {
    return count * 2 * kInt8BlockColumns * std::int64_t{sizeof(std::int32_t)};
  }
  static std::int64_t size_bytes(const Matrix& matrix) {
    const std::int64_t depth = sum_depth(matrix);
    const std::int64_t scale_blocks = depth == 0 ? 0 : round_up(matrix.k, 64) / depth;
    return 2 * parts_bytes(matrix.k) + offsets_bytes(scale_blocks) +
           kInt8BlockColumns * std::int64_t{sizeof(float)};
  }
  SplitBlock(const Matrix& matrix, const std::byte* packed)
      : high(reinterpret_cast<const std::int8_t*>(packed)),
        low(high + parts_bytes(matrix.k)),
        block_offsets(reinterpret_cast<const std::int32_t*>(low + parts_bytes(matrix.k))),
        scales(reinterpret_cast<const float*>(packed + size_bytes(matrix)) - kInt8BlockColumns) {}

  // For VNNI, if sum_depth() is 0, these are unsigned bytes: the parts plus kUnsignedOffset.
  const std::int8_t* high;  // [k / 64][k / 4 of 16][column][k % 4]
  const std::int8_t* low;   // the same; not in a narrow block
  // [k / sum_depth()][high, low][column]: minus sum_offset() times the sums of so many elements.
  const std::int32_t* block_offsets;
  const float* scales;  // [column]
};

// The functions of Int8Kernels by these names.
std::int64_t gemm_pack_bytes(const Matrix& matrix);
void gemm_pack(const Matrix& matrix, const Half* const* x, std::int64_t stride, std::byte* packed);
// The same for AMX: with narrow blocks, without sums.
void amx_gemm_pack(const Matrix& matrix, const Half* const* x, std::int64_t stride,
                   std::byte* packed);

}  // namespace anemone::kernels::simd::int8_split
