// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "quant/scheme.h"

namespace anemone::quant {

// The integers of a matrix that has a quantized_form(), as they are: int4 or int8 data [O, I, 1, 1]
// and scales [O, I / group, 1, 1] of a constexpr_blockwise_shift_scale, with the minimums of the
// form as offsets: scale * quant + minimum = scale * (quant - offset). Nothing is rounded but
// scales and offsets that `float_type` cannot hold, and groups whose values differ by less than one
// percent, which become equal.
StoredWeight store_passthrough(std::shared_ptr<const MatrixSource> matrix, DType float_type);

}  // namespace anemone::quant
