// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/image/image.h"

namespace anemone::ops {
namespace {

Status check_texts(const ir::InferContext& context) {
  const std::string_view constraint = "resample_c4";
  ANEMONE_RETURN_IF_ERROR(
      choice_parameter(context, "sampling_mode", "", {"bilinear", "nearest"}, constraint).status());
  ANEMONE_RETURN_IF_ERROR(choice_parameter(context, "padding_mode", "",
                                           {"constant", "border", "reflection", "symmetric"},
                                           constraint)
                              .status());
  return choice_parameter(context, "coordinates_mode", "",
                          {"unnormalized", "normalized_minus_one_to_one", "normalized_zero_to_one"},
                          constraint)
      .status();
}

// x [b, c, h, w] at coordinates [b, h', w', 2].
Status infer_resample(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const ir::Type& at = context.type("coordinates");
  const ir::DTypeSet before =
      context.opset() < ir::Opset::kIOS16 ? ir::DTypeSet{DType::kFp32, DType::kInt32} : kNumeric;
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"coordinates"}, before, "resample_c1"));
  if (x.shape.size() != 4 || x.shape[2] == 0 || x.shape[3] == 0)
    return ir::violated("resample_c2", "expected x of rank 4 that is not empty, got {}",
                        to_string(x.shape));
  if (at.shape.size() != 4 || !dims_agree(at.shape[0], x.shape[0]) || !dims_agree(at.shape[3], 2))
    return ir::violated("resample_c3", "expected coordinates of [{}, height, width, 2], got {}",
                        x.shape[0], to_string(at.shape));
  ANEMONE_RETURN_IF_ERROR(check_texts(context));
  ANEMONE_RETURN_IF_ERROR(
      check_scalars(context, {"padding_value", "align_corners"}, "resample_c5"));
  return add_output(outputs, "resample_c6", x.dtype,
                    {std::max(x.shape[0], at.shape[0]), x.shape[1], at.shape[1], at.shape[2]});
}

}  // namespace

ir::OpSchema resample_schema() {
  ir::OpSchema schema;
  schema.name = "resample";
  schema.parameters = {operand("x", kFloats, 'T'),
                       operand("coordinates", kNumeric | kSmallIntegers),
                       constant("sampling_mode", kText),
                       constant("padding_mode", kText),
                       constant("padding_value", kFloats, 'T'),
                       constant("coordinates_mode", kText),
                       constant("align_corners", kBool)};
  schema.infer = infer_resample;
  return schema;
}

}  // namespace anemone::ops
