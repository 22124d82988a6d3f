// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/params.h"
#include "ops/image/image.h"
#include "ops/image/resizing.h"

namespace anemone::ops {
namespace {

Status infer_upsample_nearest(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  if (context.type("x").shape.size() < 3)
    return ir::violated("upsample_nearest_neighbor_c1", "expected x of rank 3 or more, got {}",
                        to_string(context.type("x").shape));
  return add_upsampled(context, "upsample_nearest_neighbor_c2", outputs);
}

}  // namespace

ir::OpSchema upsample_nearest_neighbor_schema() {
  ir::OpSchema schema;
  schema.name = "upsample_nearest_neighbor";
  schema.parameters = scale_parameters();
  schema.parameters.insert(schema.parameters.begin(), operand("x", kFloats));
  schema.infer = infer_upsample_nearest;
  return schema;
}

}  // namespace anemone::ops
