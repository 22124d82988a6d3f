// SPDX-License-Identifier: Apache-2.0
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/indexing/indexing.h"

namespace anemone::ops {
namespace {

Status infer_gather_along_axis(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  Shape out = context.type("indices").shape;
  ANEMONE_ASSIGN_OR_RETURN(
      const std::size_t axis,
      axis_parameter(context, "axis", 0, x.shape.size(), "gather_along_axis_c1"));
  bool fits = out.size() == x.shape.size();
  for (std::size_t i = 0; fits && i < out.size(); ++i) {
    if (i == axis) continue;
    fits = dims_agree(out[i], x.shape[i]);
    if (out[i] == kDynamic) out[i] = x.shape[i];
  }
  if (!fits)
    return ir::violated("gather_along_axis_c2",
                        "expected x and indices of the same shape but for axis {}, got {} and {}",
                        axis, to_string(x.shape), to_string(context.type("indices").shape));
  ANEMONE_RETURN_IF_ERROR(check_gather_dtypes(context, "gather_along_axis_c3"));
  return add_output(outputs, "gather_along_axis_c5", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema gather_along_axis_schema() {
  ir::OpSchema schema;
  schema.name = "gather_along_axis";
  schema.parameters = gather_operands();
  schema.parameters.push_back(axis_zero());
  schema.parameters.push_back(validate_indices());
  schema.infer = infer_gather_along_axis;
  return schema;
}

}  // namespace anemone::ops
