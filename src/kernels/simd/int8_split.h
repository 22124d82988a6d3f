// SPDX-License-Identifier: Apache-2.0
// Products of weights, in the forms of a package, with columns of activations, in integers of 8
// bits: on the tile registers of AMX or on vectors of AVX-512 with VNNI, to the same bits.
// A column's result does not depend on the columns beside it.
//
// A column x of fp16 becomes two int8 parts and a scale: x = scale * (128 * high + low), with
// |high|, |low| <= 64 and at most 8191 steps each way, so the error is half of scale = max|x| /
// 8191: about that of fp16 itself. Weights are one part or two (int8_split_rows.h); of the products
// of two parts that of both low ones is left out, which is 2^-14 of the largest. Sums are exact.
//
// int4 in tiles of 32 columns with a scale each are products of their integers where vectors
// multiply: the sum of each tile is multiplied with its scale, as an integer of 16 bits. Tile
// registers cannot do that: there they are two parts as well.
#pragma once

#include <cstdint>

#include "kernels/simd/isa.h"
#include "kernels/simd/matrix.h"

namespace anemone::kernels::simd::int8_split {

inline constexpr std::int64_t kBlockColumns = 16;  // of x that are multiplied together
inline constexpr std::int64_t kBlockRows = 32;     // of the weights

inline constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
// Whether products take it: fp16, int8, int4 and palettes, with scales that hold for whole
// vectors of a row.
inline bool takes(const Matrix& matrix) {
  switch (matrix.form) {
    case Matrix::Form::kHalf:
      return true;
    case Matrix::Form::kInt8:
      return matrix.has_row_scale() || matrix.tile_columns % 16 == 0;
    case Matrix::Form::kInt4:
      return matrix.columns % 2 == 0 && (matrix.has_row_scale() || matrix.tile_columns % 32 == 0);
    case Matrix::Form::kPalette:
      return matrix.columns * matrix.bits % 8 == 0 && matrix.bits >= 4;
    case Matrix::Form::kFloat:
      return false;
  }
  return false;
}
inline bool is_int4_in_tiles(const Matrix& matrix) {
  return matrix.form == Matrix::Form::kInt4 && !matrix.has_row_scale();
}
// Bytes of one split block of columns: all high parts, all low parts, the two sums of each column,
// and those of each 32 elements of a column.
inline constexpr std::int64_t split_bytes(std::int64_t depth) {
  return 2 * kBlockColumns *
         (round_up(depth, 64) +
          (1 + round_up(depth, 64) / 32) * std::int64_t{sizeof(std::int32_t)});
}
// [high, low][kBlockColumns] of a block's parts.
inline const std::int32_t* split_sums(const std::int8_t* parts, std::int64_t depth) {
  return reinterpret_cast<const std::int32_t*>(parts + 2 * kBlockColumns * round_up(depth, 64));
}

// [32 elements of the depth][high, low][kBlockColumns]: minus eight times their sum.
inline const std::int32_t* tile_offsets(const std::int8_t* parts, std::int64_t depth) {
  return split_sums(parts, depth) + 2 * kBlockColumns;
}

// One block of columns: x[n] is fp16 with elements `stride` apart, nullptr for a column that pads
// the block. `parts` gets split_bytes(depth), 64-byte aligned; `scales` 16 floats.
void split_block(const Half* const* x, std::int64_t stride, std::int64_t depth, std::int8_t* parts,
                 float* scales);

inline constexpr std::int64_t blocks_of(std::int64_t columns) {
  return (columns + kBlockColumns - 1) / kBlockColumns;
}

// Products with blocks of columns by the instructions of one set. Thread-safe.
struct BlockProducts {
  // Up to so many columns, products of a few (int8_gemv.h) are faster.
  std::int64_t gemv_columns;
  // int4 in tiles are products of integers, not of two parts.
  bool has_tile_sums;
  // Bytes of scratch, 64-byte aligned, of multiply() for so many columns.
  std::int64_t (*scratch_bytes)(const Matrix& matrix, std::int64_t columns);
  // out[r - begin][n] = sum over c of matrix(r, c) * x[n][c] for rows [begin, end), at most
  // kBlockRows, and n < columns; the parts of the blocks lie one after the other. ldo is a
  // multiple of kBlockColumns: what pads the last block may be overwritten.
  void (*multiply)(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                   const std::int8_t* parts, const float* scales, std::int64_t columns, float* out,
                   std::int64_t ldo, std::byte* scratch);
};

// The products of one of supported_isas(); nullptr for a set that multiplies floats.
const BlockProducts* block_products_of(Isa isa);

}  // namespace anemone::kernels::simd::int8_split
