// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "quant/scheme.h"

namespace anemone::quant {

// Symmetric int8, as coremltools' linear_symmetric: scale = max|w| / 127 over the matrix or over
// each row (output channel), q = round(w / scale) in [-127, 127]. The scale is rounded to
// `float_type` before it divides, so that q belongs to the scale that the package holds. Stored as
// constexpr_blockwise_shift_scale: data int8 [O, I, 1, 1], scale [1, 1, 1, 1] or [O, 1, 1, 1].
StoredWeight store_int8(std::shared_ptr<const MatrixSource> matrix, DType float_type,
                        bool per_channel);

}  // namespace anemone::quant
