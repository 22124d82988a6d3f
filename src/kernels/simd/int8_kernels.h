// SPDX-License-Identifier: Apache-2.0
// Products of weights, in the forms of a package, with activations, by integers of 8 bits: on the
// tile registers of AMX or on vectors of AVX-512 with VNNI. Both give the same bits but for weights
// in scale blocks.
//
// The weights are a matrix [rows, k], the activations x a matrix [k, n]: a column of x, k elements,
// is what one token brings. A column's result does not depend on the columns beside it, nor on
// which function gives it.
//
// A column x of fp16 becomes two int8 parts and a scale: x = scale * (128 * high + low), with
// |high|, |low| <= 64 and at most 8191 steps each way, so the error is half of scale = max|x| /
// 8191: about that of fp16 itself. Weights are one part or two (int8_split_rows.h). Of the four
// products of two parts that of both low ones is left out: it is 2^-14 of the largest. Sums are
// exact.
//
// int4 and int8 weights may come in scale blocks: 16, 32 or more elements that share a scale. The
// VNNI kernels multiply their integers as they are, and the sum of each block with its scale. That
// gives an integer again (int8_split_rows.h), so these sums are exact, too. The tile registers of
// AMX cannot do that, so there such weights are split into two parts like others. These are the
// only forms for which AMX and VNNI differ in their bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd/matrix.h"

namespace anemone::kernels::simd {

inline constexpr std::int64_t kInt8BlockRows = 32;     // of the weights, multiplied together
inline constexpr std::int64_t kInt8BlockColumns = 16;  // of x, that gemm() multiplies together
inline constexpr std::int64_t kInt8GemvColumns = 8;    // of x, that gemv() takes at most

// The functions of one instruction set: pure, without threads of their own. All of `packed` and
// `scratch` is 64-byte aligned.
struct Int8Kernels {
  // Up to so many columns gemv() is faster than gemm(). Of more than kInt8GemvColumns the caller
  // gives a block of rows so many after the others, while the cache keeps the block.
  std::int64_t (*gemv_columns)(const Matrix& matrix);
  // Whether the functions below take the matrix: fp16, int8, int4 and palettes, with scales that
  // hold for whole vectors of a row.
  bool (*takes)(const Matrix& matrix);
  // Bytes of the row statistics that `matrix` must have for products with n columns; 0 if it needs
  // none. gemv_pack() and gemv() must get the matrix with the same ones.
  std::int64_t (*row_stats_bytes)(const Matrix& matrix, std::int64_t n);
  // Writes the statistics of rows [begin, end) to `stats`, which holds those of the whole matrix,
  // aligned to 4 bytes. They are the same for every n and for every instruction set.
  void (*compute_row_stats)(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                            std::byte* stats);

  // gemv() is for few columns, as in decoding: it reads the weights row after row, in one run.
  //
  // gemv_pack() writes n columns of x, 1 to kInt8GemvColumns, to `packed`, which holds
  // gemv_pack_bytes(). x[i] is column i, its elements of fp16 side by side.
  std::int64_t (*gemv_pack_bytes)(const Matrix& matrix, std::int64_t n);
  void (*gemv_pack)(const Matrix& matrix, const Half* const* x, std::int64_t n, std::byte* packed);
  // out[i * ldo + r - begin] = sum over k of matrix(r, k) * x[i][k] for rows [begin, end), at most
  // kInt8BlockRows, and i < n. `scratch` holds gemv_scratch_bytes().
  std::int64_t (*gemv_scratch_bytes)(const Matrix& matrix);
  void (*gemv)(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::byte* packed,
               float* out, std::int64_t ldo, std::byte* scratch);

  // gemm() is for any number of columns, which come in blocks of kInt8BlockColumns.
  //
  // gemm_pack() writes one block to `packed`, which holds gemm_pack_bytes(). x[i] is as above, or
  // nullptr for a column that pads the block; the last one of the n columns does not. Of sixteen
  // columns that lie beside each other the elements are `stride` apart; of others it is 1.
  std::int64_t (*gemm_pack_bytes)(const Matrix& matrix);
  void (*gemm_pack)(const Matrix& matrix, const Half* const* x, std::int64_t stride,
                    std::byte* packed);
  // out[(r - begin) * ldo + i] = sum over k of matrix(r, k) * x[i][k] for rows [begin, end) and
  // i < n; the blocks lie in `packed` one after the other. `begin` is a multiple of kInt8BlockRows.
  // ldo is one of kInt8BlockColumns: what pads the last block may be overwritten. `scratch` holds
  // gemm_scratch_bytes().
  std::int64_t (*gemm_scratch_bytes)(const Matrix& matrix, std::int64_t n);
  void (*gemm)(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::byte* packed,
               std::int64_t n, float* out, std::int64_t ldo, std::byte* scratch);
};

#if defined(__x86_64__)
// What kernels_of() chooses from. All but AMX run on every processor with VBMI, whoever made it.
namespace int8_split {
extern const Int8Kernels kVnniKernels;
extern const Int8Kernels kVbmiKernels;
extern const Int8Kernels kZenKernels;
extern const Int8Kernels kAmxKernels;
}  // namespace int8_split
#endif

}  // namespace anemone::kernels::simd
