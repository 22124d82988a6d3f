// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ir/op_schema.h"

namespace anemone::ops {

// scale and zero_point (which may be absent) of quantize and dequantize: both scalars, or both
// vectors along `axis` of input. Errors carry `<op>_c1`.
Status check_scales(const ir::InferContext& context, const std::string& op);

}  // namespace anemone::ops
