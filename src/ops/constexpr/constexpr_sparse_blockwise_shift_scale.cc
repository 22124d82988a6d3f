// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/constexpr/constexpr.h"

namespace anemone::ops {

// Outputs: the mask again, and the nonzero elements. The kernel, which reads the bits, checks that
// the mask has as many ones as there are elements (c5).
ir::OpSchema constexpr_sparse_blockwise_shift_scale_schema() {
  ir::OpSchema schema;
  schema.name = "constexpr_sparse_blockwise_shift_scale";
  schema.since = ir::Opset::kIOS18;
  schema.parameters = {
      constant("data_mask", kMaskBits),
      constant("nonzero_data", kConstexprData),
      constant("scale", kFloats),
      optional(constant("offset", kConstexprData)),
  };
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    const ir::Type& mask = context.type("data_mask");
    const ir::Type& nonzero = context.type("nonzero_data");
    ANEMONE_RETURN_IF_ERROR(check_shift_scale(context, "constexpr_sparse_blockwise_shift_scale",
                                              mask.shape, nonzero.dtype));
    ANEMONE_RETURN_IF_ERROR(check_vector(context, "nonzero_data", kDynamic,
                                         "constexpr_sparse_blockwise_shift_scale_c5"));
    ANEMONE_RETURN_IF_ERROR(
        add_output(outputs, "constexpr_sparse_blockwise_shift_scale_c6", mask.dtype, mask.shape));
    return add_output(outputs, "constexpr_sparse_blockwise_shift_scale_c6",
                      context.type("scale").dtype, nonzero.shape);
  };
  return schema;
}

}  // namespace anemone::ops
