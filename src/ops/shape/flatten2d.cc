// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_flatten2d(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  constexpr std::int64_t kAny64 = std::numeric_limits<std::int64_t>::min();
  ANEMONE_ASSIGN_OR_RETURN(std::int64_t axis,
                           integer_parameter(context, "axis", 1, kAny64, "flatten2d_c1"));
  // The default of 1 holds for a scalar, too: both products are empty there.
  if (rank > 0 && (axis < -rank || axis > rank))
    return ir::violated("flatten2d_c1", "expected an axis from {} to {}, got {}", -rank, rank,
                        axis);
  if (axis < 0) axis += rank;
  const auto middle = x.shape.begin() + (rank == 0 ? 0 : axis);
  return add_output(outputs, "flatten2d_c2", x.dtype,
                    {known_count({x.shape.begin(), middle}), known_count({middle, x.shape.end()})});
}

}  // namespace

ir::OpSchema flatten2d_schema() {
  ir::OpSchema schema;
  schema.name = "flatten2d";
  schema.parameters = {operand("x", kFloatsInt32Bool),
                       defaulted("axis", kInt32, ir::Literal::int32(1))};
  schema.infer = infer_flatten2d;
  return schema;
}

}  // namespace anemone::ops
