// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/indexing/indexing.h"

namespace anemone::ops {

// Coordinates of the elements that are not 0. How many there are is known with the elements.
ir::OpSchema non_zero_schema() {
  ir::OpSchema schema;
  schema.name = "non_zero";
  schema.parameters = {operand("x", kFloatsInt32Bool)};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    std::int64_t count = kDynamic;
    if (const auto x = context.value("x")) {
      count = 0;
      for (std::int64_t i = 0; i < x->size(); ++i) count += element_as_double(*x, i) != 0;
    }
    const auto rank = static_cast<std::int64_t>(context.type("x").shape.size());
    return add_output(outputs, "non_zero_c1", DType::kInt32, {count, rank});
  };
  return schema;
}

}  // namespace anemone::ops
