// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/reduction/reduction.h"

namespace anemone::ops {
namespace {

Status infer_argsort(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"ascending"}, "argsort_c1"));
  const Shape& shape = context.type("x").shape;
  ANEMONE_RETURN_IF_ERROR(axis_parameter(context, "axis", -1, shape.size(), "argsort_c2").status());
  return add_output(outputs, "argsort_c1", DType::kInt32, shape);
}

}  // namespace

ir::OpSchema argsort_schema() {
  return {.name = "argsort",
          .parameters = {{.name = "x", .dtypes = kNumeric},
                         axis_with_default(-1),
                         flag_with_default("ascending", false)},
          .infer = infer_argsort};
}

}  // namespace anemone::ops
