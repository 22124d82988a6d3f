// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_expand_dims(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"x"}, kFloatsInt32Bool, "expand_dims_c1"));
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "axes", kDynamic, "expand_dims_c2"));
  const ir::Type& x = context.type("x");
  const auto axes = context.ints("axes");
  if (!axes || axes->size() + x.shape.size() > kMaxRank)
    return ir::violated("expand_dims_c2",
                        "expected known axes and a result of at most {} dimensions", kMaxRank);
  // Axes are those of the result.
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<bool> is_new,
                           checked_axes(*axes, x.shape.size() + axes->size(), "expand_dims_c3"));
  Shape shape;
  std::size_t next = 0;
  for (const bool added : is_new) shape.push_back(added ? 1 : x.shape[next++]);
  return add_output(outputs, "expand_dims_c2", x.dtype, std::move(shape));
}

}  // namespace

ir::OpSchema expand_dims_schema() {
  return {.name = "expand_dims",
          .parameters = {{.name = "x", .dtypes = kAny},
                         {.name = "axes", .dtypes = kInt32, .is_const = true}},
          .infer = infer_expand_dims};
}

}  // namespace anemone::ops
