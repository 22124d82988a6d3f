// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_range_1d(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"start", "end", "step"}, "range_1d_c1"));
  const auto start = context.value("start");
  const auto end = context.value("end");
  const auto step = context.value("step");
  const DType dtype = context.type("start").dtype;
  if (step && element_as_double(*step, 0) == 0)
    return ir::violated("range_1d_c2", "expected a step other than 0, got 0");
  if (!start || !end || !step) return add_output(outputs, "range_1d_c3", dtype, {kDynamic});
  // Exact for int32; for floats as numpy counts.
  const double count = std::ceil((element_as_double(*end, 0) - element_as_double(*start, 0)) /
                                 element_as_double(*step, 0));
  if (!(count <= static_cast<double>(kMaxElements)))
    return ir::violated("range_1d_c3", "expected at most 2^40 elements, got {}", count);
  return add_output(outputs, "range_1d_c3", dtype,
                    {count > 0 ? static_cast<std::int64_t>(count) : 0});
}

}  // namespace

ir::OpSchema range_1d_schema() {
  return {.name = "range_1d",
          .parameters = {{.name = "end", .dtypes = kNumeric, .dtype_letter = 'T'},
                         {.name = "start", .dtypes = kNumeric, .dtype_letter = 'T'},
                         {.name = "step", .dtypes = kNumeric, .dtype_letter = 'T'}},
          .infer = infer_range_1d};
}

}  // namespace anemone::ops
