// SPDX-License-Identifier: Apache-2.0
// Blocks of activations as int8 parts, which gemm() of Int8Kernels multiplies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd/int8_kernels.h"
#include "kernels/simd/matrix.h"

namespace anemone::kernels::simd::int8_split {

inline constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
inline constexpr std::int64_t blocks_of(std::int64_t n) {
  return (n + kInt8BlockColumns - 1) / kInt8BlockColumns;
}
inline bool is_int4_in_tiles(const Matrix& matrix) {
  return matrix.form == Matrix::Form::kInt4 && !matrix.has_row_scale();
}

// Where the parts of a block's columns lie in the bytes that gemm_pack() writes. A view.
struct SplitBlock {
  static constexpr std::int64_t parts_bytes(std::int64_t k) {  // all high ones or all low ones
    return kInt8BlockColumns * round_up(k, 64);
  }
  static constexpr std::int64_t sums_bytes(std::int64_t count) {
    return count * 2 * kInt8BlockColumns * std::int64_t{sizeof(std::int32_t)};
  }
  static constexpr std::int64_t size_bytes(std::int64_t k) {
    return 2 * parts_bytes(k) + sums_bytes(1 + round_up(k, 64) / 32) +
           kInt8BlockColumns * std::int64_t{sizeof(float)};
  }
  SplitBlock(const std::byte* packed, std::int64_t k)
      : high(reinterpret_cast<const std::int8_t*>(packed)),
        low(high + parts_bytes(k)),
        sums(reinterpret_cast<const std::int32_t*>(low + parts_bytes(k))),
        tile_offsets(sums + 2 * kInt8BlockColumns),
        scales(reinterpret_cast<const float*>(packed + size_bytes(k)) - kInt8BlockColumns) {}

  const std::int8_t* high;           // [k / 64][k / 4 of 16][column][k % 4]
  const std::int8_t* low;            // the same
  const std::int32_t* sums;          // [high, low][column]
  const std::int32_t* tile_offsets;  // [k / 32][high, low][column]: minus eight times their sums
  const float* scales;               // [column]
};

// The functions of Int8Kernels by these names.
std::int64_t gemm_pack_bytes(std::int64_t k);
void gemm_pack(const Half* const* x, std::int64_t stride, std::int64_t k, std::byte* packed);

}  // namespace anemone::kernels::simd::int8_split
