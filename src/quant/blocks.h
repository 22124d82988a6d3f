// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "quant/scheme.h"

namespace anemone::quant {

// Symmetric int8 or int4 with one scale for each run of `block` columns of a row, as coremltools'
// linear_symmetric per block: scale = max|w| / 127 (or 7), rounded to `float_type` before it
// divides. The block becomes the largest divisor of the columns that is not above it. Stored as
// constexpr_blockwise_shift_scale: data [O, I, 1, 1], scale [O, I / block, 1, 1].
StoredWeight store_blocks(std::shared_ptr<const MatrixSource> matrix, DType float_type, DType dtype,
                          std::int64_t block);

std::uint64_t block_bytes(std::int64_t rows, std::int64_t columns, DType float_type, DType dtype,
                          std::int64_t block);

}  // namespace anemone::quant
