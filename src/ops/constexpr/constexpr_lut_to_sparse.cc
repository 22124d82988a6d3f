// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/constexpr/constexpr.h"

namespace anemone::ops {

// Outputs: the mask, grown along the vector axis, and the nonzero elements in its order. The
// kernel, which reads the bits, checks that the mask has as many ones as there are indices (c5).
ir::OpSchema constexpr_lut_to_sparse_schema() {
  ir::OpSchema schema;
  schema.name = "constexpr_lut_to_sparse";
  schema.since = ir::Opset::kIOS18;
  schema.parameters = {
      constant("indices_mask", kMaskBits),
      constant("indices_nonzero_data", kPaletteIndices),
      constant("lut", kPaletteData),
      optional(constant("vector_axis", kInt32)),
  };
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    const ir::Type& mask = context.type("indices_mask");
    const ir::Type& nonzero = context.type("indices_nonzero_data");
    ANEMONE_RETURN_IF_ERROR(
        check_vector(context, "indices_nonzero_data", kDynamic, "constexpr_lut_to_sparse_c5"));
    ANEMONE_ASSIGN_OR_RETURN(
        Shape grown, check_lut(context, "constexpr_lut_to_sparse", mask.shape, nonzero.dtype));
    const ir::Type& lut = context.type("lut");
    std::int64_t count = nonzero.shape[0];
    if (count > kMaxElements / lut.shape.back())
      return ir::violated("constexpr_lut_to_sparse_c5", "the output is too large");
    if (count != kDynamic) count *= lut.shape.back();
    ANEMONE_RETURN_IF_ERROR(
        add_output(outputs, "constexpr_lut_to_sparse_c6", mask.dtype, std::move(grown)));
    return add_output(outputs, "constexpr_lut_to_sparse_c6", lut.dtype, {count});
  };
  return schema;
}

}  // namespace anemone::ops
