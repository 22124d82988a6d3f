// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "quant/matrix_source.h"
#include "tensor/dtype.h"

namespace anemone::quant {

// A scale as a package of `float_type` holds it: rounded, never 0 (weights that are all zero take
// any scale). kCorrupt when fp16 has none that large.
Result<float> stored_scale(float exact, DType float_type, const MatrixSource& matrix);

}  // namespace anemone::quant
