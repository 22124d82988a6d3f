// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "quant/scheme.h"

namespace anemone::quant {

// A palette of 2^n values for each group of `group` rows (output channels; 0: one for all), as
// coremltools' per_grouped_channel and per_tensor. The group becomes the largest divisor of the
// rows that is not above it. Each weight becomes the index of the nearest value. Values come from
// k-means, or lie evenly between the smallest and the largest weight of the group; they are rounded
// to `float_type` first. Stored as constexpr_lut_to_dense: indices of `dtype` (uint4, uint6
// or uint8) [O, I, 1, 1], lut [O / group, 1, 1, 1, 2^n, 1].
StoredWeight store_palette(std::shared_ptr<const MatrixSource> matrix, DType float_type,
                           DType dtype, PaletteMode mode, std::int64_t group,
                           bool measure_error = false);

std::uint64_t palette_bytes(std::int64_t rows, std::int64_t columns, DType float_type, DType dtype,
                            std::int64_t group);

}  // namespace anemone::quant
