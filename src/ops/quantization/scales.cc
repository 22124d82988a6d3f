// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/scales.h"

#include "ops/common/infer.h"

namespace anemone::ops {

Status check_scales(const ir::InferContext& context, const std::string& op) {
  const std::string constraint = op + "_c1";
  const Shape& input = context.type("input").shape;
  const Shape& scale = context.type("scale").shape;
  if (context.has("zero_point") && context.type("zero_point").shape.size() != scale.size())
    return ir::violated(constraint, "expected a zero_point of the rank of scale, got {} and {}",
                        to_string(context.type("zero_point").shape), to_string(scale));
  if (scale.empty()) return ok_status();
  if (!context.has("axis"))
    return ir::violated(constraint, "expected an axis for a vector of scales");
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t axis,
                           axis_parameter(context, "axis", 0, input.size(), constraint));
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "scale", input[axis], constraint));
  return check_vector(context, "zero_point", input[axis], constraint);
}

}  // namespace anemone::ops
