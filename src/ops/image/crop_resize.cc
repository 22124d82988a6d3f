// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/image/image.h"
#include "ops/image/resizing.h"

namespace anemone::ops {
namespace {

// Whether the known indices of pictures are among `count` ones.
Status check_indices(const std::vector<std::int64_t>& indices, std::int64_t count) {
  for (const std::int64_t index : indices)
    if (index < 0 || (count != kDynamic && index >= count))
      return ir::violated("crop_resize_c3", "expected indices from 0 below {}, got {}", count,
                          index);
  return ok_status();
}

// roi [n, 1, 4, 1, 1] takes each box from each picture of x [b, c, h, w]: the result is [n, b, c,
// height, width]. roi [n, 1, 5, 1, 1] has the index of a picture before each box: [n, 1, ...].
Result<Shape> result_of_roi(const ir::InferContext& context) {
  const Shape& x = context.type("x").shape;
  const Shape& roi = context.type("roi").shape;
  if (roi.size() != 5 || !dims_agree(roi[1], 1) || (roi[2] != 4 && roi[2] != 5) ||
      !dims_agree(roi[3], 1) || !dims_agree(roi[4], 1))
    return ir::violated("crop_resize_c2", "expected a roi of [n, 1, 4 or 5, 1, 1], got {}",
                        to_string(roi));
  if (roi[2] == 4) return Shape{roi[0], x[0], x[1]};
  if (const auto values = context.value("roi")) {
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < values->size(); i += 5) {
      // NaN is checked before the conversion to an integer, which would make it the first picture.
      if (std::isnan(element_as_double(*values, i)))
        return ir::violated("crop_resize_c3", "expected indices from 0 below {}, got NaN", x[0]);
      indices.push_back(element_as_int(*values, i));
    }
    ANEMONE_RETURN_IF_ERROR(check_indices(indices, x[0]));
  }
  return Shape{roi[0], 1, x[1]};
}

// boxes [n, 4] and the indices of their pictures, 0, 1, ... by default: [n, c, height, width].
Result<Shape> result_of_boxes(const ir::InferContext& context) {
  const Shape& x = context.type("x").shape;
  const Shape& boxes = context.type("boxes").shape;
  if (boxes.size() != 2 || !dims_agree(boxes[1], 4))
    return ir::violated("crop_resize_c2", "expected boxes of [n, 4], got {}", to_string(boxes));
  if (context.has("box_indices")) {
    ANEMONE_RETURN_IF_ERROR(check_vector(context, "box_indices", boxes[0], "crop_resize_c3"));
    if (const auto indices = context.ints("box_indices"))
      ANEMONE_RETURN_IF_ERROR(check_indices(*indices, x[0]));
  } else if (x[0] != kDynamic && boxes[0] > x[0]) {
    return ir::violated("crop_resize_c3", "expected box_indices for more boxes than pictures");
  }
  return Shape{boxes[0], x[1]};
}

Status infer_crop_resize(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  if (x.shape.size() != 4 || x.shape[2] == 0 || x.shape[3] == 0)
    return ir::violated("crop_resize_c1", "expected x of rank 4 that is not empty, got {}",
                        to_string(x.shape));
  if (context.has("roi") == context.has("boxes") ||
      context.has("roi") != (context.opset() < ir::Opset::kIOS17))
    return ir::violated("crop_resize_c2", "expected a roi before ios17, boxes since");
  if (context.has("roi") && context.type("roi").dtype != x.dtype)
    return ir::violated("crop_resize_c2", "expected a roi of the dtype of x");
  ANEMONE_ASSIGN_OR_RETURN(Shape out,
                           context.has("roi") ? result_of_roi(context) : result_of_boxes(context));
  for (const std::string_view name : {"target_height", "target_width"}) {
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t size,
                             integer_parameter(context, name, 1, 1, "crop_resize_c4"));
    out.push_back(size);
  }
  ANEMONE_RETURN_IF_ERROR(check_scalars(
      context, {"normalized_coordinates", "spatial_scale", "pad_value"}, "crop_resize_c4"));
  ANEMONE_RETURN_IF_ERROR(check_sampling_mode(context, "crop_resize_c5"));
  ANEMONE_RETURN_IF_ERROR(choice_parameter(context, "box_coordinate_mode", "CORNERS_HEIGHT_FIRST",
                                           {"CORNERS_HEIGHT_FIRST", "CORNERS_WIDTH_FIRST",
                                            "CENTER_SIZE_HEIGHT_FIRST", "CENTER_SIZE_WIDTH_FIRST"},
                                           "crop_resize_c5")
                              .status());
  const bool is_normalized = context.boolean("normalized_coordinates").value_or(false);
  if (is_normalized && context.has("boxes") && !is_float(context.type("boxes").dtype))
    return ir::violated("crop_resize_c2", "expected float boxes for normalized coordinates");
  return add_output(outputs, "crop_resize_c6", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema crop_resize_schema() {
  const auto zero = [](const ir::InferContext& context) {
    return ir::Literal::number(0, context.type("x").dtype);
  };
  // coremltools writes its default as fp32, whatever the dtype of x is.
  ir::Parameter pad_value = since(ir::Opset::kIOS16, defaulted("pad_value", kFloats, zero));
  ir::OpSchema schema;
  schema.name = "crop_resize";
  schema.parameters = {
      operand("x", kFloats),
      optional(operand("roi", kFloats)),
      since(ir::Opset::kIOS17,
            optional(operand("boxes", {DType::kFp16, DType::kFp32, DType::kUInt16}))),
      since(ir::Opset::kIOS17, optional(operand("box_indices", {DType::kUInt16, DType::kInt32}))),
      defaulted("target_height", kInt32, ir::Literal::int32(1)),
      defaulted("target_width", kInt32, ir::Literal::int32(1)),
      defaulted("normalized_coordinates", kBool, ir::Literal::boolean(false)),
      defaulted("spatial_scale", {DType::kFp32}, ir::Literal::number(1, DType::kFp32)),
      defaulted("box_coordinate_mode", kText, ir::Literal::text("CORNERS_HEIGHT_FIRST")),
      defaulted("sampling_mode", kText, ir::Literal::text("DEFAULT")),
      pad_value};
  schema.infer = infer_crop_resize;
  return schema;
}

}  // namespace anemone::ops
