// SPDX-License-Identifier: Apache-2.0
// The functions gemm and gemm_scratch_bytes of Int8Kernels, for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd/int8_split_rows.h"
#include "kernels/simd/matrix.h"

namespace anemone::kernels::simd::int8_split {

std::int64_t vnni_gemm_scratch_bytes(const Matrix& matrix, std::int64_t n);
template <RowBlock::ExpandPalettes kPalettes>
void vnni_gemm(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::byte* packed,
               std::int64_t n, float* out, std::int64_t ldo, std::byte* scratch);

std::int64_t amx_gemm_scratch_bytes(const Matrix& matrix, std::int64_t n);
void amx_gemm(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::byte* packed,
              std::int64_t n, float* out, std::int64_t ldo, std::byte* scratch);

}  // namespace anemone::kernels::simd::int8_split
