// SPDX-License-Identifier: Apache-2.0
// Schemas of the category indexing. In all of them `<op>_c3` is about dtypes that an older opset
// lacks, and `<op>_c4` about the value of an index, which the kernel checks.
#pragma once

#include <string_view>

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema gather_schema();
ir::OpSchema gather_along_axis_schema();
ir::OpSchema gather_nd_schema();
ir::OpSchema non_zero_schema();
ir::OpSchema scatter_schema();
ir::OpSchema scatter_along_axis_schema();
ir::OpSchema scatter_nd_schema();

// x, indices of a gather.
std::vector<ir::Parameter> gather_operands();
// data, indices, updates of a scatter, and `mode`.
std::vector<ir::Parameter> scatter_operands();
ir::Parameter axis_zero();
ir::Parameter batch_dims();
ir::Parameter validate_indices();

// Dtypes of x and indices in older opsets.
Status check_gather_dtypes(const ir::InferContext& context, std::string_view constraint);
// `mode` is one that exists.
Status check_mode(const ir::InferContext& context, std::string_view constraint);
// `batch_dims`, at most `limit`; the dimensions of x and indices that it names agree.
Result<std::size_t> checked_batch_dims(const ir::InferContext& context, std::size_t limit,
                                       std::string_view constraint);
// `updates` has this shape.
Status check_updates(const ir::InferContext& context, const Shape& want,
                     std::string_view constraint);

}  // namespace anemone::ops
