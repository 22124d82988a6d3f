// SPDX-License-Identifier: Apache-2.0
// Elementwise operations that differ by their function alone have the same schema but for the name.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

// y = f(x), the type of x.
ir::OpSchema unary_schema(std::string_view name, ir::DTypeSet dtypes);

// z = f(x, y), broadcast, of the dtype of x and y. <name>_c1: the shapes broadcast.
ir::OpSchema binary_schema(std::string_view name, ir::DTypeSet dtypes);

// A binary operation whose result is bool.
ir::OpSchema comparison_schema(std::string_view name);

// y = f(x, epsilon): epsilon is a constant scalar (<name>_c1) of the dtype of x before iOS17
// (<name>_c2).
ir::OpSchema epsilon_schema(std::string_view name, double default_epsilon);

// y = f(x, constants): required constant scalars (<name>_c1) of the dtype of x.
// `since_17_any_float` frees their dtype from iOS17 on (<name>_c2).
ir::OpSchema constants_schema(std::string_view name, ir::DTypeSet dtypes,
                              std::initializer_list<std::string_view> constants,
                              bool since_17_any_float);

// y = f(x, constants) where x is [batch, channels, spatial...] of at least rank 3 (<name>_c1) and
// the constants are required vectors of the channels (<name>_c2), of the dtype of x before iOS17
// (<name>_c3).
ir::OpSchema channel_constants_schema(std::string_view name,
                                      std::initializer_list<std::string_view> constants);

}  // namespace anemone::ops
