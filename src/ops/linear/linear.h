// SPDX-License-Identifier: Apache-2.0
// Schemas of the category linear.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema conv_schema();
ir::OpSchema conv_transpose_schema();
ir::OpSchema einsum_schema();
ir::OpSchema linear_schema();
ir::OpSchema matmul_schema();

}  // namespace anemone::ops
