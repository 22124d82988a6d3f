// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/image/image.h"
#include "ops/image/resizing.h"

namespace anemone::ops {
namespace {

Status infer_upsample_bilinear(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  if (context.type("x").shape.size() < 3)
    return ir::violated("upsample_bilinear_c1", "expected x of rank 3 or more, got {}",
                        to_string(context.type("x").shape));
  ANEMONE_RETURN_IF_ERROR(
      check_scalars(context, {"align_corners", "half_pixel_centers"}, "upsample_bilinear_c3"));
  // Corners that lie on each other leave no room for centers.
  const bool aligns = context.boolean("align_corners").value_or(true);
  if (aligns && context.boolean("half_pixel_centers").value_or(false))
    return ir::violated("upsample_bilinear_c3",
                        "align_corners and half_pixel_centers exclude each other");
  return add_upsampled(context, "upsample_bilinear_c2", outputs);
}

}  // namespace

ir::OpSchema upsample_bilinear_schema() {
  ir::OpSchema schema;
  schema.name = "upsample_bilinear";
  schema.parameters = scale_parameters();
  schema.parameters.insert(schema.parameters.begin(), operand("x", kFloats));
  schema.parameters.push_back(defaulted("align_corners", kBool, ir::Literal::boolean(true)));
  schema.parameters.push_back(
      since(ir::Opset::kIOS16, optional(constant("half_pixel_centers", kBool))));
  schema.infer = infer_upsample_bilinear;
  return schema;
}

}  // namespace anemone::ops
