// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/shape/shape.h"
#include "ops/shape/space_batch.h"

namespace anemone::ops {
namespace {

Status infer_space_to_batch(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const std::string label = "space_to_batch_c4";
  ANEMONE_ASSIGN_OR_RETURN(const SpatialBlocks blocks,
                           read_blocks(context, "space_to_batch", "paddings"));
  const ir::Type& x = context.type("x");
  Shape out = x.shape;
  for (std::size_t i = 0; i < 2; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(out[0], scaled_dim(out[0], blocks.block[i], label));
    if (out[2 + i] == kDynamic) continue;
    ANEMONE_ASSIGN_OR_RETURN(out[2 + i],
                             divided_dim(out[2 + i] + blocks.border[i][0] + blocks.border[i][1],
                                         blocks.block[i], label));
  }
  return add_output(outputs, label, x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema space_to_batch_schema() {
  ir::OpSchema schema;
  schema.name = "space_to_batch";
  schema.parameters = {operand("x", kFloats), constant("block_shape", kInt32),
                       constant("paddings", kInt32)};
  schema.infer = infer_space_to_batch;
  return schema;
}

}  // namespace anemone::ops
