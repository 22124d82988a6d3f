// SPDX-License-Identifier: Apache-2.0
// Products of weights, in the forms of a package, with columns of activations on the tile registers
// (Isa::kAmx), in integers of 8 bits.
// A column's result does not depend on the columns beside it.
//
// A column x of fp16 becomes two digits of 8 bits and a scale: x = scale * (128 * high + low), with
// |high|, |low| <= 64 and at most 8191 steps each way, so the error is half of scale = max|x| /
// 8191: about that of fp16 itself. Weights are one digit or two (amx_rows.h); of the products of
// two digits that of both low ones is left out, which is 2^-14 of the largest. Sums are exact.
#pragma once

#include <cstdint>

#include "kernels/simd/matrix.h"

namespace anemone::kernels::simd::amx {

inline constexpr std::int64_t kBlockColumns = 16;  // of x that are multiplied together
inline constexpr std::int64_t kBlockRows = 32;     // of the weights

inline constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
// Whether multiply() takes it: fp16, int8, int4 and palettes, with scales that hold for whole
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
// Bytes of the digits of one block of columns.
inline constexpr std::int64_t digit_bytes(std::int64_t depth) {
  return 2 * kBlockColumns * round_up(depth, 64);
}

// One block of columns: x[n] is fp16 with elements `stride` apart, nullptr for a column that pads
// the block. `digits` gets digit_bytes(depth), 64-byte aligned; `scales` 16 floats.
void make_digits(const Half* const* x, std::int64_t stride, std::int64_t depth, std::int8_t* digits,
                 float* scales);

// Sets the tile registers of this thread up, and gives them back.
class Tiles {
 public:
  Tiles();
  ~Tiles();
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// Bytes of scratch, 64-byte aligned, of multiply() for so many blocks of columns.
std::int64_t scratch_bytes(const Matrix& matrix, std::int64_t blocks);

// out[r - begin][n] = sum over c of matrix(r, c) * x[n][c] for rows [begin, end), at most
// kBlockRows, and all columns of `blocks` blocks, whose digits lie one after the other; ldo is a
// multiple of 16. A Tiles must live in this thread.
void multiply(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::int8_t* digits,
              const float* scales, std::int64_t blocks, float* out, std::int64_t ldo,
              std::byte* scratch);

}  // namespace anemone::kernels::simd::amx
