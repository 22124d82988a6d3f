// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/shape/shape.h"
#include "ops/shape/space_batch.h"

namespace anemone::ops {
namespace {

Status infer_batch_to_space(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const std::string label = "batch_to_space_c4";
  ANEMONE_ASSIGN_OR_RETURN(const SpatialBlocks blocks,
                           read_blocks(context, "batch_to_space", "crops"));
  const ir::Type& x = context.type("x");
  Shape out = x.shape;
  for (std::size_t i = 0; i < 2; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(out[0], divided_dim(out[0], blocks.block[i], label));
    ANEMONE_ASSIGN_OR_RETURN(out[2 + i], scaled_dim(out[2 + i], blocks.block[i], label));
    if (out[2 + i] == kDynamic) continue;
    out[2 + i] -= blocks.border[i][0] + blocks.border[i][1];
    if (out[2 + i] < 0)
      return ir::violated(label, "expected crops that leave something of x {}", to_string(x.shape));
  }
  return add_output(outputs, label, x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema batch_to_space_schema() {
  ir::OpSchema schema;
  schema.name = "batch_to_space";
  schema.parameters = {operand("x", kFloats), constant("block_shape", kInt32),
                       constant("crops", kInt32)};
  schema.infer = infer_batch_to_space;
  return schema;
}

}  // namespace anemone::ops
