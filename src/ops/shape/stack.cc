// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/join.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_stack(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_ASSIGN_OR_RETURN(Shape shape, joined_shape(context, kDynamic, "stack_c1", "stack_c2"));
  // The axis is one of the result.
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t axis,
                           axis_parameter(context, "axis", 0, shape.size() + 1, "stack_c3"));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis),
               static_cast<std::int64_t>(context.count("values")));
  return add_output(outputs, "stack_c4", context.type("values").dtype, std::move(shape));
}

}  // namespace

ir::OpSchema stack_schema() {
  return {.name = "stack",
          .parameters = {{.name = "values", .dtypes = kAny, .is_variadic = true},
                         {.name = "axis", .dtypes = kInt32, .is_const = true}},
          .infer = infer_stack};
}

}  // namespace anemone::ops
