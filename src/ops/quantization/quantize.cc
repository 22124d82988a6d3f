// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/quantization/quantization.h"
#include "ops/quantization/scales.h"

namespace anemone::ops {
namespace {

Status infer_quantize(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_scales(context, "quantize"));
  ANEMONE_ASSIGN_OR_RETURN(
      const std::string_view name,
      choice_parameter(context, "output_dtype", "", {"uint8", "int8"}, "quantize_c2"));
  const DType dtype = name == "int8" ? DType::kInt8 : DType::kUInt8;
  if (context.has("zero_point") && context.type("zero_point").dtype != dtype)
    return ir::violated("quantize_c3", "expected a zero_point of the output_dtype {}, got {}", name,
                        dtype_name(context.type("zero_point").dtype));
  if (const auto scale = context.value("scale")) {
    const std::vector<float> scales = to_floats(*scale);
    if (!scales.empty() &&
        std::all_of(scales.begin(), scales.end(), [](float value) { return value == 0; }))
      return ir::violated("quantize_c4", "expected a scale that is not 0");
  }
  return add_output(outputs, "quantize_c5", dtype, context.type("input").shape);
}

}  // namespace

ir::OpSchema quantize_schema() {
  ir::OpSchema schema;
  schema.name = "quantize";
  schema.since = ir::Opset::kIOS17;
  schema.parameters = {operand("input", kFloats, 'S'),
                       optional(constant("zero_point", {DType::kInt8, DType::kUInt8})),
                       constant("scale", kFloats, 'S'), optional(constant("axis", kInt32)),
                       constant("output_dtype", kText)};
  schema.infer = infer_quantize;
  return schema;
}

}  // namespace anemone::ops
