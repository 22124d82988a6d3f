// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/norm/norm.h"

namespace anemone::ops {

ir::OpSchema l2_norm_schema() {
  ir::OpSchema schema;
  schema.name = "l2_norm";
  schema.parameters = {operand("x", kFloats), epsilon_parameter(1e-6)};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    const ir::Type& x = context.type("x");
    if (x.shape.size() < 3)
      return ir::violated("l2_norm_c1", "expected x of rank 3 or more, got {}", to_string(x.shape));
    ANEMONE_RETURN_IF_ERROR(check_same_dtype_before_17(context, {"epsilon"}, "l2_norm_c2"));
    ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"epsilon"}, "l2_norm_c3"));
    outputs.push_back(x);
    return {};
  };
  return schema;
}

}  // namespace anemone::ops
