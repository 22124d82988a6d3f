// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "ir/op_schema.h"

namespace anemone::ops {

// What the values of concat and stack have in common: one dtype (`label`), one rank and, but for
// the dimension `free_axis` (kDynamic: none is free), one shape (`shape_label`). Gives that shape,
// with unknown dimensions filled in where another value knows them; the free one is that of the
// first value.
Result<Shape> joined_shape(const ir::InferContext& context, std::int64_t free_axis,
                           std::string_view label, std::string_view shape_label);

}  // namespace anemone::ops
