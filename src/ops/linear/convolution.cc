// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/convolution.h"

#include "ops/common/dtypes.h"
#include "ops/common/params.h"
#include "ops/common/spatial.h"

namespace anemone::ops {

ir::OpSchema convolution_schema(std::string_view name) {
  ir::OpSchema schema;
  schema.name = name;
  schema.parameters = {
      operand("x", kFloats),
      operand("weight", kFloats),
      optional(operand("bias", kFloats)),
      defaulted("strides", kInt32, per_spatial_axis(1, 1)),
      defaulted("pad_type", kText, ir::Literal::text("valid")),
      defaulted("pad", kInt32, per_spatial_axis(0, 2)),
      defaulted("dilations", kInt32, per_spatial_axis(1, 1)),
      defaulted("groups", kInt32, ir::Literal::int32(1)),
  };
  return schema;
}

}  // namespace anemone::ops
