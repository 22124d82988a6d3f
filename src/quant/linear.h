// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "quant/scheme.h"

namespace anemone::quant {

// The weights that share a scale: `rows` x `columns` of them.
struct Tile {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};

// Stores a matrix in symmetric int8 or int4, like coremltools' linear_symmetric: scale = max|w| /
// 127 (or 7) over a tile, q = round(w / scale). The scale is rounded to `float_type` before it
// divides, so that q belongs to the scale that the package holds. The tile divides the matrix.
// Stored as constexpr_blockwise_shift_scale: data [O, I, 1, 1], scale [O / rows, I / columns, 1,
// 1].
StoredWeight store_linear(std::shared_ptr<const MatrixSource> matrix, DType float_type, DType dtype,
                          const Tile& tile, bool measure_error = false);

std::uint64_t linear_bytes(std::int64_t rows, std::int64_t columns, DType float_type, DType dtype,
                           const Tile& tile);

}  // namespace anemone::quant
