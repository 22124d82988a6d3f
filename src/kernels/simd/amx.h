// SPDX-License-Identifier: Apache-2.0
// Products of int8 weights, read where they lie in the package, with many columns, on the tile
// registers (Isa::kAmx).
//
// Up to kFewColumns columns, as in decoding, take one tile for both digits. A column's result does
// not depend on the columns beside it.
//
// A column x of fp16 becomes two digits of 8 bits and a scale: x = scale * (128 * high + low), with
// |high|, |low| <= 64 and at most 8191 steps each way, so the error is half of scale = max|x| /
// 8191: about that of fp16 itself. Both digits are columns of one integer product, whose sums are
// exact.
#pragma once

#include <cstdint>

#include "kernels/simd/matrix.h"

namespace anemone::kernels::simd::amx {

inline constexpr std::int64_t kBlockColumns = 16;  // of x that are multiplied together
inline constexpr std::int64_t kBlockRows = 32;     // of the weights
inline constexpr std::int64_t kFewColumns = 8;

inline constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
// Whether multiply() takes it: int8 with one scale a row or matrix.
inline bool takes(const Matrix& matrix) {
  return matrix.form == Matrix::Form::kInt8 && matrix.has_row_scale();
}
// Bytes of the digits of one block of columns.
inline constexpr std::int64_t digit_bytes(std::int64_t depth) {
  return 2 * kBlockColumns * round_up(depth, 64);
}

// One block of columns: x[n] is fp16 with elements `stride` apart, nullptr for a column that pads
// the block. `digits` gets digit_bytes(depth), 64-byte aligned; `scales` 16 floats.
void make_digits(const Half* const* x, std::int64_t stride, std::int64_t depth, std::int8_t* digits,
                 float* scales);

// The same for at most kFewColumns columns; `digits` gets half of digit_bytes(depth).
void make_few_digits(const Half* const* x, std::int64_t stride, std::int64_t depth,
                     std::int8_t* digits, float* scales);

// Sets the tile registers of this thread up, and gives them back.
class Tiles {
 public:
  Tiles();
  ~Tiles();
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// out[r - begin][n] = sum over c of matrix(r, c) * x[n][c] for rows [begin, end), at most
// kBlockRows, and all columns of `blocks` blocks, whose digits lie one after the other; ldo is a
// multiple of 16. `scratch` holds kBlockRows * (round_up(columns, 64) + 128) bytes, 64-byte
// aligned. A Tiles must live in this thread.
void multiply(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::int8_t* digits,
              const float* scales, std::int64_t blocks, float* out, std::int64_t ldo,
              std::byte* scratch);
// The same for the columns of make_few_digits(): out[r - begin][n], kFewColumns apart.
void multiply_few(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                  const std::int8_t* digits, const float* scales, float* out, std::byte* scratch);

}  // namespace anemone::kernels::simd::amx
