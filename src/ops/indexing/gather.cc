// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/common/infer.h"
#include "ops/indexing/indexing.h"

namespace anemone::ops {
namespace {

// x.shape[:axis] + indices.shape[batch_dims:] + x.shape[axis + 1:]; rank 0 indices drop the axis.
Status infer_gather(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const Shape& indices = context.type("indices").shape;
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t axis,
                           axis_parameter(context, "axis", 0, x.shape.size(), "gather_c1"));
  ANEMONE_ASSIGN_OR_RETURN(
      const std::size_t batch_dims,
      checked_batch_dims(context, std::min(axis, indices.size()), "gather_c2"));
  ANEMONE_RETURN_IF_ERROR(check_gather_dtypes(context, "gather_c3"));
  const auto at = x.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  Shape out(x.shape.begin(), at);
  out.insert(out.end(), indices.begin() + static_cast<std::ptrdiff_t>(batch_dims), indices.end());
  out.insert(out.end(), at + 1, x.shape.end());
  return add_output(outputs, "gather_c5", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema gather_schema() {
  ir::OpSchema schema;
  schema.name = "gather";
  schema.parameters = gather_operands();
  schema.parameters.push_back(axis_zero());
  schema.parameters.push_back(batch_dims());
  schema.parameters.push_back(validate_indices());
  schema.infer = infer_gather;
  return schema;
}

}  // namespace anemone::ops
