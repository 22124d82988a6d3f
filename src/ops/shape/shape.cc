// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/shape.h"

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"

namespace anemone::ops {
namespace {

Status infer_shape(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const auto rank = static_cast<std::int64_t>(context.type("x").shape.size());
  return add_output(outputs, "shape_c1", DType::kInt32, {rank});
}

}  // namespace

ir::OpSchema shape_schema() {
  return {.name = "shape",
          .parameters = {{.name = "x", .dtypes = kFloatsInt32Bool}},
          .infer = infer_shape};
}

}  // namespace anemone::ops
