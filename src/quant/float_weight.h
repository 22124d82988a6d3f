// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "quant/scheme.h"

namespace anemone::quant {

// Scheme::kNone: the matrix in `float_type` as a const. Loading fails (kUnsupported) on a value
// that is not finite, or that fp16 cannot hold.
StoredWeight store_float(std::shared_ptr<const MatrixSource> matrix, DType float_type);

// Shape of a projection weight: a 1x1 convolution kernel.
Shape projection_shape(const MatrixSource& matrix);

// kUnsupported when a row holds NaN, infinity or a value outside of `float_type`.
Status check_row(const MatrixSource& matrix, std::int64_t row, std::span<const float> values,
                 DType float_type);

}  // namespace anemone::quant
