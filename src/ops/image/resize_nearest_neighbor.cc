// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/image/image.h"
#include "ops/image/resizing.h"

namespace anemone::ops {
namespace {

Status infer_resize_nearest(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  if (context.type("x").shape.size() < 3)
    return ir::violated("resize_nearest_neighbor_c1", "expected x of rank 3 or more, got {}",
                        to_string(context.type("x").shape));
  const std::string constraint = "resize_nearest_neighbor_c2";
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t height,
                           integer_parameter(context, "target_size_height", 1, 1, constraint));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t width,
                           integer_parameter(context, "target_size_width", 1, 1, constraint));
  return add_resized(context, height, width, constraint, outputs);
}

}  // namespace

ir::OpSchema resize_nearest_neighbor_schema() {
  ir::OpSchema schema;
  schema.name = "resize_nearest_neighbor";
  schema.parameters = {operand("x", kFloats), constant("target_size_height", kInt32),
                       constant("target_size_width", kInt32)};
  schema.infer = infer_resize_nearest;
  return schema;
}

}  // namespace anemone::ops
