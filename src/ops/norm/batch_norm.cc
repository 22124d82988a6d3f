// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/params.h"
#include "ops/norm/norm.h"

namespace anemone::ops {

ir::OpSchema batch_norm_schema() {
  ir::OpSchema schema;
  schema.name = "batch_norm";
  schema.parameters = {
      operand("x", kFloats),
      constant("mean", kFloats, 'U'),
      constant("variance", kFloats, 'U'),
      optional(constant("gamma", kFloats, 'U')),
      optional(constant("beta", kFloats, 'U')),
      epsilon_parameter(1e-5),
  };
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) {
    return infer_channel_norm(context, "batch_norm", {"mean", "variance", "gamma", "beta"},
                              outputs);
  };
  return schema;
}

}  // namespace anemone::ops
