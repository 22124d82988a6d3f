// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/image/image.h"

namespace anemone::ops {
namespace {

constexpr std::string_view kLabel = "non_maximum_suppression_c1";

// Before iOS17 boxes are [n, boxes, 4] and scores [n, boxes, classes]; there is a score_threshold,
// and the number of boxes found is a fourth result. Since then the boxes are the last axis.
Status infer_nms(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& boxes = context.type("boxes");
  const ir::Type& scores = context.type("scores");
  const bool is_old = context.opset() < ir::Opset::kIOS17;
  const std::size_t box = is_old ? 1 : 2;
  const std::size_t part = is_old ? 2 : 1;
  if (boxes.shape.size() != 3 || scores.shape.size() != 3 ||
      !dims_agree(boxes.shape[0], scores.shape[0]) ||
      !dims_agree(boxes.shape[box], scores.shape[box]) || !dims_agree(boxes.shape[part], 4) ||
      scores.shape[part] == 0)
    return ir::violated(kLabel,
                        "expected boxes and scores of [n, boxes, 4] and [n, boxes, classes], since "
                        "ios17 with the boxes last, got {} and {}",
                        to_string(boxes.shape), to_string(scores.shape));
  if (context.has("score_threshold") != is_old)
    return ir::violated("non_maximum_suppression_c2",
                        "expected a score_threshold before ios17 and none since");
  ANEMONE_RETURN_IF_ERROR(
      check_scalars(context, {"iou_threshold", "score_threshold", "per_class_suppression"},
                    "non_maximum_suppression_c3"));
  ANEMONE_ASSIGN_OR_RETURN(
      const std::int64_t count,
      integer_parameter(context, "max_boxes", 0, 0, "non_maximum_suppression_c3"));
  const std::int64_t batch = std::max(boxes.shape[0], scores.shape[0]);
  const std::string_view size_label = "non_maximum_suppression_c4";
  for (const std::int64_t width : {std::int64_t{4}, scores.shape[part]}) {
    Shape shape(3, batch);
    shape[box] = count;
    shape[part] = width;
    ANEMONE_RETURN_IF_ERROR(add_output(outputs, size_label, boxes.dtype, std::move(shape)));
  }
  ANEMONE_RETURN_IF_ERROR(add_output(outputs, size_label, DType::kInt32, {batch, count}));
  if (is_old) ANEMONE_RETURN_IF_ERROR(add_output(outputs, size_label, DType::kInt32, {batch}));
  return ok_status();
}

}  // namespace

ir::OpSchema non_maximum_suppression_schema() {
  ir::OpSchema schema;
  schema.name = "non_maximum_suppression";
  schema.parameters = {operand("boxes", kFloats, 'T'),
                       operand("scores", kFloats, 'T'),
                       constant("iou_threshold", kFloats, 'T'),
                       optional(constant("score_threshold", kFloats, 'T')),
                       constant("max_boxes", kInt32),
                       defaulted("per_class_suppression", kBool, ir::Literal::boolean(false))};
  schema.infer = infer_nms;
  return schema;
}

}  // namespace anemone::ops
