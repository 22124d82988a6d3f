// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/image/image.h"

namespace anemone::ops {
namespace {

// x [b, c, h, w] through transform_matrix [b or 1, 6]. The texts have one value each.
Status infer_affine_transform(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const Shape& matrix = context.type("transform_matrix").shape;
  if (x.shape.size() != 4 || x.shape[2] == 0 || x.shape[3] == 0)
    return ir::violated("affine_c1", "expected x of rank 4 that is not empty, got {}",
                        to_string(x.shape));
  if (matrix.size() != 2 || !dims_agree(matrix[1], 6) ||
      (matrix[0] != 1 && !dims_agree(matrix[0], x.shape[0])))
    return ir::violated("affine_c2", "expected a transform_matrix of [{} or 1, 6], got {}",
                        x.shape[0], to_string(matrix));
  ANEMONE_RETURN_IF_ERROR(
      choice_parameter(context, "sampling_mode", "", {"bilinear", "BILINEAR"}, "affine_c3")
          .status());
  ANEMONE_RETURN_IF_ERROR(
      choice_parameter(context, "padding_mode", "", {"constant", "CONSTANT"}, "affine_c3")
          .status());
  ANEMONE_RETURN_IF_ERROR(
      choice_parameter(context, "coordinates_mode", "",
                       {"normalized_minus_one_to_one", "NORMALIZED_MINUS_ONE_TO_ONE"}, "affine_c3")
          .status());
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"padding_value", "align_corners"}, "affine_c4"));
  Shape out = x.shape;
  ANEMONE_ASSIGN_OR_RETURN(out[2], integer_parameter(context, "output_height", 1, 1, "affine_c4"));
  ANEMONE_ASSIGN_OR_RETURN(out[3], integer_parameter(context, "output_width", 1, 1, "affine_c4"));
  return add_output(outputs, "affine_c5", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema affine_schema() {
  ir::OpSchema schema;
  schema.name = "affine";
  schema.parameters = {operand("x", kFloats, 'T'),
                       operand("transform_matrix", kFloats, 'T'),
                       constant("output_height", kInt32),
                       constant("output_width", kInt32),
                       constant("sampling_mode", kText),
                       constant("padding_mode", kText),
                       constant("padding_value", kFloats, 'T'),
                       constant("coordinates_mode", kText),
                       constant("align_corners", kBool)};
  schema.infer = infer_affine_transform;
  return schema;
}

}  // namespace anemone::ops
