// SPDX-License-Identifier: Apache-2.0
// The elementwise operations. Those that differ by their function alone stand together in a table
// per family; the others have a file of their own.
#pragma once

#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

std::vector<ir::OpSchema> activation_schemas();
std::vector<ir::OpSchema> binary_schemas();
std::vector<ir::OpSchema> comparison_schemas();
std::vector<ir::OpSchema> unary_schemas();

ir::OpSchema cast_schema();
ir::OpSchema clip_schema();
ir::OpSchema gelu_schema();
ir::OpSchema select_schema();

}  // namespace anemone::ops
