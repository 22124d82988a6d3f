// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "ir/op_schema.h"

namespace anemone::ops {

// The parameters that conv and conv_transpose share: operands, window and groups.
ir::OpSchema convolution_schema(std::string_view name);

}  // namespace anemone::ops
