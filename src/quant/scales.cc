// SPDX-License-Identifier: Apache-2.0
#include "quant/scales.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tensor/half.h"

namespace anemone::quant {
namespace {

constexpr float kSmallestHalf = 0x1p-24f;

}  // namespace

Result<float> stored_scale(float exact, DType float_type, const MatrixSource& matrix) {
  float scale = exact;
  if (float_type == DType::kFp16) scale = std::max(to_float(to_half(scale)), kSmallestHalf);
  if (scale == 0.0f) scale = 1.0f;
  if (!std::isfinite(scale))
    return corrupt("[{}] the weights are too large for an fp16 scale", matrix.name());
  return scale;
}

}  // namespace anemone::quant
