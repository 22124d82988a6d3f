// SPDX-License-Identifier: Apache-2.0
#include "ops/common/infer.h"
#include "ops/indexing/indexing.h"

namespace anemone::ops {
namespace {

// updates: data.shape[:axis] + indices.shape + data.shape[axis + 1:]
Status infer_scatter(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& data = context.type("data");
  const Shape& indices = context.type("indices").shape;
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t axis,
                           axis_parameter(context, "axis", 0, data.shape.size(), "scatter_c1"));
  ANEMONE_RETURN_IF_ERROR(check_mode(context, "scatter_c2"));
  const auto at = data.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  Shape want(data.shape.begin(), at);
  want.insert(want.end(), indices.begin(), indices.end());
  want.insert(want.end(), at + 1, data.shape.end());
  ANEMONE_RETURN_IF_ERROR(check_updates(context, want, "scatter_c3"));
  outputs.push_back(data);
  return {};
}

}  // namespace

ir::OpSchema scatter_schema() {
  ir::OpSchema schema;
  schema.name = "scatter";
  schema.parameters = scatter_operands();
  schema.parameters.push_back(axis_zero());
  schema.parameters.push_back(validate_indices());
  schema.infer = infer_scatter;
  return schema;
}

}  // namespace anemone::ops
