// SPDX-License-Identifier: Apache-2.0
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/indexing/indexing.h"

namespace anemone::ops {
namespace {

// updates and indices have the shape of data but for the axis.
Status infer_scatter_along_axis(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& data = context.type("data");
  const Shape& indices = context.type("indices").shape;
  ANEMONE_ASSIGN_OR_RETURN(
      const std::size_t axis,
      axis_parameter(context, "axis", 0, data.shape.size(), "scatter_along_axis_c1"));
  ANEMONE_RETURN_IF_ERROR(check_mode(context, "scatter_along_axis_c2"));
  Shape want = data.shape;
  if (indices.size() == want.size()) want[axis] = indices[axis];
  ANEMONE_RETURN_IF_ERROR(
      merge_shapes(indices, want, "indices and data but for the axis", "scatter_along_axis_c3")
          .status());
  ANEMONE_RETURN_IF_ERROR(check_updates(context, indices, "scatter_along_axis_c3"));
  outputs.push_back(data);
  return {};
}

}  // namespace

ir::OpSchema scatter_along_axis_schema() {
  ir::OpSchema schema;
  schema.name = "scatter_along_axis";
  schema.parameters = scatter_operands();
  schema.parameters.push_back(axis_zero());
  schema.parameters.push_back(validate_indices());
  schema.infer = infer_scatter_along_axis;
  return schema;
}

}  // namespace anemone::ops
