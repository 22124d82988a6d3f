// SPDX-License-Identifier: Apache-2.0
// What slice_by_index and slice_update share: the parameters that name a slice of x.
#pragma once

#include <anemone/status.h>

#include <string_view>
#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

// begin, end, stride, begin_mask, end_mask, squeeze_mask.
std::vector<ir::Parameter> slice_parameters();

// Shape of the slice, without the squeezed axes; kDynamic where begin, end or a dimension of x is
// not known. <op>_c2: vectors as long as the rank of x; <op>_c3: strides are not 0, squeezed
// indices exist.
Result<Shape> slice_shape(const ir::InferContext& context, std::string_view op);

}  // namespace anemone::ops
