// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/constexpr/constexpr.h"

namespace anemone::ops {
namespace {

// The zero point may be of uint8 beside data of int8, and the other way round: their values count.
Status infer_affine(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& data = context.type("quantized_data");
  ANEMONE_ASSIGN_OR_RETURN(
      const std::size_t axis,
      axis_parameter(context, "axis", 0, data.shape.size(), "constexpr_affine_dequantize_c1"));
  for (const std::string_view name : {"scale", "zero_point"}) {
    const Shape& shape = context.type(name).shape;
    if (!shape.empty() && shape != Shape{data.shape[axis]})
      return ir::violated("constexpr_affine_dequantize_c2",
                          "expected {} to be a scalar or a vector of {}, got {}", name,
                          data.shape[axis], to_string(shape));
  }
  return add_output(outputs, "constexpr_affine_dequantize_c3", context.type("scale").dtype,
                    data.shape);
}

}  // namespace

ir::OpSchema constexpr_affine_dequantize_schema() {
  constexpr ir::DTypeSet bytes{DType::kInt8, DType::kUInt8};
  ir::OpSchema schema;
  schema.name = "constexpr_affine_dequantize";
  schema.since = ir::Opset::kIOS16;
  schema.parameters = {
      constant("quantized_data", bytes),
      constant("zero_point", bytes | ir::DTypeSet{DType::kFp32}),
      constant("scale", kFloats),
      constant("axis", kInt32),
  };
  schema.infer = infer_affine;
  return schema;
}

}  // namespace anemone::ops
