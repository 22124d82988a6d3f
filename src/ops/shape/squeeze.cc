// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_squeeze(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"x"}, kAny15, "squeeze_c1"));
  const ir::Type& x = context.type("x");
  const std::size_t rank = x.shape.size();
  std::vector<bool> is_dropped(rank);
  if (context.has("axes")) {
    ANEMONE_RETURN_IF_ERROR(check_vector(context, "axes", kDynamic, "squeeze_c2"));
    const auto axes = context.ints("axes");
    if (!axes) return ir::violated("squeeze_c2", "expected known axes");
    ANEMONE_ASSIGN_OR_RETURN(is_dropped, checked_axes(*axes, rank, "squeeze_c3"));
  } else {
    if (!is_static(x.shape))
      return ir::violated("squeeze_c2", "expected axes for a shape with unknown dimensions, {}",
                          to_string(x.shape));
    for (std::size_t i = 0; i < rank; ++i) is_dropped[i] = x.shape[i] == 1;
  }
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) {
    if (!is_dropped[i])
      shape.push_back(x.shape[i]);
    else if (x.shape[i] != 1 && x.shape[i] != kDynamic)
      return ir::violated("squeeze_c4", "expected dimension {} of x to be 1, got {}", i,
                          x.shape[i]);
  }
  return add_output(outputs, "squeeze_c3", x.dtype, std::move(shape));
}

}  // namespace

ir::OpSchema squeeze_schema() {
  return {.name = "squeeze",
          .parameters = {{.name = "x", .dtypes = kAny},
                         {.name = "axes",
                          .dtypes = kInt32,
                          .presence = ir::Parameter::Presence::kOptional,
                          .is_const = true}},
          .infer = infer_squeeze};
}

}  // namespace anemone::ops
