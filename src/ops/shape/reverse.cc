// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_reverse(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"x"}, kFloatsInt32Bool, "reverse_c1"));
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "axes", kDynamic, "reverse_c2"));
  const ir::Type& x = context.type("x");
  if (context.has("axes")) {
    const auto axes = context.ints("axes");
    if (!axes) return ir::violated("reverse_c2", "expected known axes");
    ANEMONE_RETURN_IF_ERROR(checked_axes(*axes, x.shape.size(), "reverse_c3").status());
  }
  outputs.push_back(x);
  return ok_status();
}

}  // namespace

ir::OpSchema reverse_schema() {
  return {.name = "reverse",
          .parameters = {{.name = "x", .dtypes = kAny},
                         {.name = "axes",
                          .dtypes = kInt32,
                          .presence = ir::Parameter::Presence::kOptional,
                          .is_const = true}},
          .infer = infer_reverse};
}

}  // namespace anemone::ops
