// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/reduction/reduction.h"

namespace anemone::ops {
namespace {

using ir::InferContext;

// The dtype of the values; of the one that is written when the other is not.
DType value_dtype(const InferContext& context) {
  for (const std::string_view name : {"on_value", "off_value"})
    if (context.has(name)) return context.type(name).dtype;
  return DType::kInt32;
}

ir::Parameter value_parameter(std::string_view name, int value) {
  return {.name = name,
          .dtypes = kFloatsInt32Bool,
          .presence = ir::Parameter::Presence::kDefaulted,
          .is_const = true,
          .dtype_letter = 'T',
          .default_value = [value](const InferContext& context) {
            const DType dtype = value_dtype(context);
            if (dtype == DType::kBool) return ir::Literal::boolean(value != 0);
            return dtype == DType::kInt32 ? ir::Literal::int32(value)
                                          : ir::Literal::number(value, dtype);
          }};
}

Status infer_one_hot(const InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(
      check_scalars(context, {"one_hot_vector_size", "on_value", "off_value"}, "one_hot_c1"));
  Shape shape = context.type("indices").shape;
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t axis,
                           axis_parameter(context, "axis", -1, shape.size() + 1, "one_hot_c2"));
  const auto size = context.integer("one_hot_vector_size");
  if (size && *size < 0)
    return ir::violated("one_hot_c3", "expected a vector size of at least 0, got {}", *size);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), size.value_or(kDynamic));
  return add_output(outputs, "one_hot_c4", value_dtype(context), std::move(shape));
}

}  // namespace

ir::OpSchema one_hot_schema() {
  return {.name = "one_hot",
          .parameters = {{.name = "indices", .dtypes = kInt32},
                         {.name = "one_hot_vector_size", .dtypes = kInt32},
                         axis_with_default(-1),
                         value_parameter("on_value", 1),
                         value_parameter("off_value", 0)},
          .infer = infer_one_hot};
}

}  // namespace anemone::ops
