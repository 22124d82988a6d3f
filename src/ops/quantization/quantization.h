// SPDX-License-Identifier: Apache-2.0
// Schemas of the category quantization: 8-bit integers with a scale and a zero point.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema dequantize_schema();
ir::OpSchema quantize_schema();

}  // namespace anemone::ops
