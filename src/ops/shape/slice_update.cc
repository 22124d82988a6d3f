// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"
#include "ops/shape/slicing.h"

namespace anemone::ops {
namespace {

Status infer_slice_update(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const Shape& update = context.type("update").shape;
  if (update.empty())
    return ir::violated("slice_update_c1", "expected an update of rank 1 or more, got a scalar");
  ANEMONE_ASSIGN_OR_RETURN(const Shape slice, slice_shape(context, "slice_update"));
  ANEMONE_RETURN_IF_ERROR(
      merge_shapes(slice, update, "the slice of x and update", "slice_update_c4").status());
  outputs.push_back(context.type("x"));
  return ok_status();
}

}  // namespace

ir::OpSchema slice_update_schema() {
  ir::OpSchema schema{.name = "slice_update",
                      .since = ir::Opset::kIOS18,
                      .parameters = {{.name = "x", .dtypes = kAny, .dtype_letter = 'T'},
                                     {.name = "update", .dtypes = kAny, .dtype_letter = 'T'}},
                      .infer = infer_slice_update};
  for (ir::Parameter& parameter : slice_parameters()) schema.parameters.push_back(parameter);
  return schema;
}

}  // namespace anemone::ops
