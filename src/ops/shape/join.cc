// SPDX-License-Identifier: Apache-2.0
// Several tensors become one.
#include <anemone/status.h>

#include <string>

#include "ir/op_schema.h"
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Result<Shape> joined_shape(const ir::InferContext& context, std::int64_t free_axis,
                           std::string_view constraint, std::string_view shape_constraint) {
  const ir::Type& first = context.type("values");
  Shape merged = first.shape;
  for (std::size_t i = 0; i < context.count("values"); ++i) {
    const ir::Type& type = context.type("values", i);
    if (!type.is_tensor() || !kAny.contains(type.dtype) || type.dtype != first.dtype)
      return ir::violated(constraint, "expected tensors of one dtype, got {} and {}",
                          to_string(first), to_string(type));
    Shape shape = type.shape;
    if (free_axis != kDynamic && shape.size() == merged.size())
      shape[static_cast<std::size_t>(free_axis)] = merged[static_cast<std::size_t>(free_axis)];
    ANEMONE_ASSIGN_OR_RETURN(merged, merge_shapes(merged, shape, "values", shape_constraint));
  }
  return merged;
}

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

Status infer_stack(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_ASSIGN_OR_RETURN(Shape shape, joined_shape(context, kDynamic, "stack_c1", "stack_c2"));
  // The axis is one of the result.
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t axis,
                           axis_parameter(context, "axis", 0, shape.size() + 1, "stack_c3"));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis),
               static_cast<std::int64_t>(context.count("values")));
  return add_output(outputs, "stack_c4", context.type("values").dtype, std::move(shape));
}

ir::OpSchema stack_schema() {
  return {.name = "stack",
          .parameters = {{.name = "values", .dtypes = kAny, .is_variadic = true},
                         {.name = "axis", .dtypes = kInt32, .is_const = true}},
          .infer = infer_stack};
}

}  // namespace

std::vector<ir::OpSchema> join_schemas() {
  return {concat_schema(), stack_schema()};
}

}  // namespace anemone::ops
