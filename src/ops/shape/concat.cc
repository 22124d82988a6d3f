// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/join.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_concat(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"interleave"}, "concat_c1"));
  const bool interleave = context.boolean("interleave").value_or(false);
  const std::size_t rank = context.type("values").shape.size();
  // Scalars are joined as vectors of one element; frontends build shape vectors so.
  ANEMONE_ASSIGN_OR_RETURN(
      const std::size_t axis,
      axis_parameter(context, "axis", 0, std::max<std::size_t>(rank, 1), "concat_c2"));
  const std::int64_t free_axis =
      interleave || rank == 0 ? kDynamic : static_cast<std::int64_t>(axis);
  ANEMONE_ASSIGN_OR_RETURN(Shape shape, joined_shape(context, free_axis, "concat_c3", "concat_c4"));
  if (rank == 0) shape.push_back(1);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < context.count("values"); ++i) {
    const std::int64_t dim = rank == 0 ? 1 : context.type("values", i).shape[axis];
    if (dim == kDynamic || total == kDynamic)
      total = kDynamic;
    else if (dim > kMaxElements - total)
      return ir::violated("concat_c5", "expected at most 2^40 elements along axis {}", axis);
    else
      total += dim;
  }
  // Interleaved values have one shape, so one known dimension is enough.
  if (interleave && shape[axis] != kDynamic && shape[axis] <= kMaxElements)
    total = shape[axis] * static_cast<std::int64_t>(context.count("values"));
  shape[axis] = total;
  return add_output(outputs, "concat_c5", context.type("values").dtype, std::move(shape));
}

}  // namespace

ir::OpSchema concat_schema() {
  return {.name = "concat",
          .parameters = {{.name = "values", .dtypes = kAny, .is_variadic = true},
                         {.name = "axis", .dtypes = kInt32, .is_const = true},
                         {.name = "interleave",
                          .dtypes = kBool,
                          .presence = ir::Parameter::Presence::kDefaulted,
                          .is_const = true,
                          .default_value =
                              [](const ir::InferContext&) { return ir::Literal::boolean(false); }}},
          .infer = infer_concat};
}

}  // namespace anemone::ops
