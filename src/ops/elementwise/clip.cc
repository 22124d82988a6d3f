// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/elementwise/elementwise.h"

namespace anemone::ops {
namespace {

Status infer_clip(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"alpha", "beta"}, "clip_c1"));
  const auto alpha = context.value("alpha");
  const auto beta = context.value("beta");
  if (alpha && beta) {
    const double low = element_as_double(*alpha, 0);
    const double high = element_as_double(*beta, 0);
    // From iOS17 on, equal bounds are refused, too.
    const bool is_ordered = context.opset() >= ir::Opset::kIOS17 ? low < high : low <= high;
    if (!is_ordered)
      return ir::violated("clip_c2", "expected alpha below beta, got {} and {}", low, high);
  }
  outputs.push_back(context.type("x"));
  return ok_status();
}

}  // namespace

ir::OpSchema clip_schema() {
  return {
      .name = "clip",
      .parameters = {{.name = "x", .dtypes = kFloats, .dtype_letter = 'T'},
                     {.name = "alpha", .dtypes = kFloats, .is_const = true, .dtype_letter = 'T'},
                     {.name = "beta", .dtypes = kFloats, .is_const = true, .dtype_letter = 'T'}},
      .infer = infer_clip};
}

}  // namespace anemone::ops
