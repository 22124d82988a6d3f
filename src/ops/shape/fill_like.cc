// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_fill_like(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"value"}, "fill_like_c1"));
  const DType dtype = context.has("value") ? context.type("value").dtype : DType::kFp32;
  return add_output(outputs, "fill_like_c2", dtype, context.type("ref_tensor").shape);
}

}  // namespace

ir::OpSchema fill_like_schema() {
  return {.name = "fill_like",
          .since = ir::Opset::kIOS16,
          .parameters = {{.name = "ref_tensor", .dtypes = kAny15},
                         {.name = "value",
                          .dtypes = kAny15,
                          .presence = ir::Parameter::Presence::kDefaulted,
                          .is_const = true,
                          .default_value =
                              [](const ir::InferContext&) {
                                return ir::Literal::number(0, DType::kFp32);
                              }}},
          .infer = infer_fill_like};
}

}  // namespace anemone::ops
