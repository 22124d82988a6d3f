// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_crop(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const std::size_t rank = x.shape.size();
  if (rank < 3)
    return ir::violated("crop_c1", "expected x of rank 3 or more, got {}", to_string(x.shape));
  Shape out = x.shape;
  const std::string_view names[] = {"crop_height", "crop_width"};
  for (std::size_t i = 0; i < 2; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const auto amounts,
                             ints_parameter(context, names[i], 2, 0, "crop_c2"));
    std::int64_t& size = out[rank - 2 + i];
    if (size == kDynamic) continue;
    if (amounts[0] + amounts[1] > size)
      return ir::violated("crop_c3", "expected {} to leave something of {}, got {} and {}",
                          names[i], size, amounts[0], amounts[1]);
    size -= amounts[0] + amounts[1];
  }
  return add_output(outputs, "crop_c3", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema crop_schema() {
  ir::OpSchema schema;
  schema.name = "crop";
  schema.parameters = {operand("x", kFloats), constant("crop_height", kInt32),
                       constant("crop_width", kInt32)};
  schema.infer = infer_crop;
  return schema;
}

}  // namespace anemone::ops
