// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/quantization/quantization.h"
#include "ops/quantization/scales.h"

namespace anemone::ops {
namespace {

Status infer_dequantize(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_scales(context, "dequantize"));
  return add_output(outputs, "dequantize_c2", context.type("scale").dtype,
                    context.type("input").shape);
}

}  // namespace

ir::OpSchema dequantize_schema() {
  constexpr ir::DTypeSet bytes{DType::kInt8, DType::kUInt8};
  ir::OpSchema schema;
  schema.name = "dequantize";
  schema.since = ir::Opset::kIOS17;
  schema.parameters = {operand("input", bytes, 'S'), optional(constant("zero_point", bytes, 'S')),
                       constant("scale", kFloats), optional(constant("axis", kInt32))};
  schema.infer = infer_dequantize;
  return schema;
}

}  // namespace anemone::ops
