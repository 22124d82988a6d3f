// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/norm/norm.h"

namespace anemone::ops {

ir::OpSchema softmax_schema() {
  ir::OpSchema schema;
  schema.name = "softmax";
  schema.parameters = {operand("x", kFloats), defaulted("axis", kInt32, ir::Literal::int32(-1))};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    const ir::Type& x = context.type("x");
    ANEMONE_RETURN_IF_ERROR(
        axis_parameter(context, "axis", -1, x.shape.size(), "softmax_c1").status());
    outputs.push_back(x);
    return {};
  };
  return schema;
}

}  // namespace anemone::ops
