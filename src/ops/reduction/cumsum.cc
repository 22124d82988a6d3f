// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/reduction/reduction.h"

namespace anemone::ops {
namespace {

Status infer_cumsum(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"exclusive", "reverse"}, "cumsum_c1"));
  const ir::Type& x = context.type("x");
  ANEMONE_RETURN_IF_ERROR(axis_parameter(context, "axis", 0, x.shape.size(), "cumsum_c2").status());
  outputs.push_back(x);
  return ok_status();
}

}  // namespace

ir::OpSchema cumsum_schema() {
  return {.name = "cumsum",
          .parameters = {{.name = "x", .dtypes = kNumeric},
                         axis_with_default(0),
                         flag_with_default("exclusive", false),
                         flag_with_default("reverse", false)},
          .infer = infer_cumsum};
}

}  // namespace anemone::ops
