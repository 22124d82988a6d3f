// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/transpose.h"

#include <algorithm>
#include <cstring>

namespace anemone::kernels::simd {
namespace {

constexpr std::int64_t kEight = 8;
using Eight = std::uint16_t __attribute__((vector_size(16)));

void interleave_halves(const Eight* from, Eight* to) {
  for (int i = 0; i < kEight / 2; ++i) {
    to[2 * i] = __builtin_shufflevector(from[i], from[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
}

// Eight rows of eight. After the first round the elements of row i alternate with those of row
// i + 4; after the third, those of a column lie beside each other.
void transpose_eight(const Half* in, std::int64_t in_stride, Half* out, std::int64_t out_stride) {
  Eight a[kEight];
  Eight b[kEight];
  for (int i = 0; i < kEight; ++i) std::memcpy(&a[i], in + i * in_stride, sizeof(Eight));
  interleave_halves(a, b);
  interleave_halves(b, a);
  interleave_halves(a, b);
  for (int i = 0; i < kEight; ++i)
    std::memcpy(static_cast<void*>(out + i * out_stride), &b[i], sizeof(Eight));
}

void transpose_square(const Half* in, std::int64_t rows, std::int64_t columns,
                      std::int64_t in_stride, Half* out, std::int64_t out_stride) {
  const std::int64_t whole_rows = rows / kEight * kEight;
  const std::int64_t whole_columns = columns / kEight * kEight;
  for (std::int64_t r = 0; r < whole_rows; r += kEight)
    for (std::int64_t c = 0; c < whole_columns; c += kEight)
      transpose_eight(in + r * in_stride + c, in_stride, out + c * out_stride + r, out_stride);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      out[c * out_stride + r] = in[r * in_stride + c];
}

}  // namespace

void transpose_matrix(const Half* in, std::int64_t rows, std::int64_t columns, Half* out) {
  // Squares of this size stay in the nearest cache.
  constexpr std::int64_t kSquare = 32;
  for (std::int64_t r = 0; r < rows; r += kSquare)
    for (std::int64_t c = 0; c < columns; c += kSquare)
      transpose_square(in + r * columns + c, std::min(rows - r, kSquare),
                       std::min(columns - c, kSquare), columns, out + c * rows + r, rows);
}

}  // namespace anemone::kernels::simd
