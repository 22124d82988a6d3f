// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/constexpr/constexpr.h"

namespace anemone::ops {

ir::OpSchema constexpr_blockwise_shift_scale_schema() {
  ir::OpSchema schema;
  schema.name = "constexpr_blockwise_shift_scale";
  schema.since = ir::Opset::kIOS18;
  schema.parameters = {
      constant("data", kConstexprData),
      constant("scale", kFloats),
      optional(constant("offset", kConstexprData)),
  };
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    const ir::Type& data = context.type("data");
    ANEMONE_RETURN_IF_ERROR(
        check_shift_scale(context, "constexpr_blockwise_shift_scale", data.shape, data.dtype));
    return add_output(outputs, "constexpr_blockwise_shift_scale_c5", context.type("scale").dtype,
                      data.shape);
  };
  return schema;
}

}  // namespace anemone::ops
