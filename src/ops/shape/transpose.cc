// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_transpose(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"x"}, kFloatsInt32Bool, "transpose_c1"));
  const ir::Type& x = context.type("x");
  const std::size_t rank = x.shape.size();
  ANEMONE_RETURN_IF_ERROR(
      check_vector(context, "perm", static_cast<std::int64_t>(rank), "transpose_c2"));
  const auto perm = context.ints("perm");
  if (!perm || perm->size() != rank)
    return ir::violated("transpose_c2", "expected a known perm of {} entries", rank);
  ANEMONE_RETURN_IF_ERROR(checked_axes(*perm, rank, "transpose_c3").status());
  Shape shape;
  for (const std::int64_t axis : *perm)
    shape.push_back(x.shape[static_cast<std::size_t>(*normalize_axis(axis, rank))]);
  return add_output(outputs, "transpose_c2", x.dtype, std::move(shape));
}

}  // namespace

ir::OpSchema transpose_schema() {
  return {.name = "transpose",
          .parameters = {{.name = "x", .dtypes = kAny},
                         {.name = "perm", .dtypes = kInt32, .is_const = true}},
          .infer = infer_transpose};
}

}  // namespace anemone::ops
