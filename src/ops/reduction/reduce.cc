// SPDX-License-Identifier: Apache-2.0
// Reductions that differ by their function alone have the same schema but for the name.
#include <string>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/reduction/reduction.h"

namespace anemone::ops {
namespace {

using ir::InferContext;
using ir::Type;

std::string family_label(std::string_view name, int number) {
  return fmt::format("{}_c{}", name, number);
}

Shape reduced_shape(const Shape& x, const std::vector<bool>& is_reduced, bool keep_dims) {
  Shape shape;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!is_reduced[i])
      shape.push_back(x[i]);
    else if (keep_dims)
      shape.push_back(1);
  }
  return shape;
}

Status infer_reduction(std::string_view name, const InferContext& context,
                       std::vector<Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "axes", kDynamic, family_label(name, 1)));
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"keep_dims"}, family_label(name, 1)));
  const Type& x = context.type("x");
  std::vector<bool> is_reduced(x.shape.size(), true);
  if (context.has("axes")) {
    const auto axes = context.ints("axes");
    if (!axes) return ir::violated(family_label(name, 1), "expected known axes");
    ANEMONE_ASSIGN_OR_RETURN(is_reduced,
                             checked_axes(*axes, x.shape.size(), family_label(name, 2)));
  }
  const bool keep_dims = context.boolean("keep_dims").value_or(false);
  return add_output(outputs, family_label(name, 1), x.dtype,
                    reduced_shape(x.shape, is_reduced, keep_dims));
}

Status infer_position(std::string_view name, const InferContext& context,
                      std::vector<Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"keep_dims"}, family_label(name, 1)));
  const Type& x = context.type("x");
  ANEMONE_ASSIGN_OR_RETURN(
      const std::size_t axis,
      axis_parameter(context, "axis", -1, x.shape.size(), family_label(name, 2)));
  if (x.shape[axis] == 0)
    return ir::violated(family_label(name, 4), "expected elements along axis {}, got none", axis);
  DType dtype = DType::kInt32;
  if (context.has("output_dtype")) {
    const auto parsed = parse_dtype(context.text("output_dtype").value_or(""));
    if (parsed != DType::kInt32 && parsed != DType::kUInt16)
      return ir::violated(family_label(name, 3),
                          "expected the output_dtype int32 or uint16, got \"{}\"",
                          context.text("output_dtype").value_or(""));
    dtype = *parsed;
  }
  std::vector<bool> is_reduced(x.shape.size(), false);
  is_reduced[axis] = true;
  const bool keep_dims = context.boolean("keep_dims").value_or(false);
  return add_output(outputs, family_label(name, 1), dtype,
                    reduced_shape(x.shape, is_reduced, keep_dims));
}

// y = f(x, axes, keep_dims): the dimensions `axes` of x (all, when absent) become one element, or 1
// with keep_dims. The dtype of x. <name>_c1: the parameters' shapes; <name>_c2: axes lie inside,
// each once.
ir::OpSchema reduction_schema(std::string_view name) {
  return {.name = name,
          .parameters = {operand("x", kNumeric), optional(constant("axes", kInt32)),
                         flag_with_default("keep_dims", false)},
          .infer = [name](const InferContext& context, std::vector<Type>& outputs) {
            return infer_reduction(name, context, outputs);
          }};
}

// y = f(x, axis, keep_dims, output_dtype): the position of an element along one axis, int32 or,
// from iOS17 on, uint16. <name>_c1: shapes of the parameters; _c2: the axis; _c3: the dtype; _c4:
// not of no elements.
ir::OpSchema position_schema(std::string_view name) {
  return {.name = name,
          .parameters = {{.name = "x", .dtypes = kNumeric},
                         axis_with_default(-1),
                         flag_with_default("keep_dims", false),
                         indices_dtype_with_default("output_dtype")},
          .infer = [name](const InferContext& context, std::vector<Type>& outputs) {
            return infer_position(name, context, outputs);
          }};
}

}  // namespace

std::vector<ir::OpSchema> reduce_schemas() {
  return {reduction_schema("reduce_l1_norm"), reduction_schema("reduce_l2_norm"),
          reduction_schema("reduce_log_sum"), reduction_schema("reduce_log_sum_exp"),
          reduction_schema("reduce_max"),     reduction_schema("reduce_mean"),
          reduction_schema("reduce_min"),     reduction_schema("reduce_prod"),
          reduction_schema("reduce_sum"),     reduction_schema("reduce_sum_square"),
          position_schema("reduce_argmax"),   position_schema("reduce_argmin")};
}

}  // namespace anemone::ops
