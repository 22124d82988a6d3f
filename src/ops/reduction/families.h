// SPDX-License-Identifier: Apache-2.0
// Reductions that differ by their function alone have the same schema but for the name.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

// y = f(x, axes, keep_dims): the dimensions `axes` of x (all, when absent) become one element, or 1
// with keep_dims. The dtype of x. <name>_c1: the parameters' shapes; <name>_c2: axes lie inside,
// each once.
ir::OpSchema reduction_schema(std::string_view name);

// y = f(x, axis, keep_dims, output_dtype): the position of an element along one axis, int32 or,
// from iOS17 on, uint16. <name>_c1: shapes of the parameters; _c2: the axis; _c3: the dtype; _c4:
// not of no elements.
ir::OpSchema position_schema(std::string_view name);

// Parameters that several operations have: a constant int32 "axis", a constant bool, and the name
// of the dtype of positions ("int32"), which came with iOS17.
ir::Parameter axis_with_default(std::int32_t axis);
ir::Parameter flag_with_default(std::string_view name, bool value);
ir::Parameter indices_dtype_with_default(std::string_view name);

}  // namespace anemone::ops
