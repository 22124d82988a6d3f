// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_tile(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "reps", rank, "tile_c1"));
  const auto reps = context.ints("reps");
  if (reps && reps->size() != x.shape.size())
    return ir::violated("tile_c1", "expected {} elements in reps, got {}", rank, reps->size());
  Shape shape(x.shape.size(), kDynamic);
  for (std::size_t i = 0; reps && i < shape.size(); ++i) {
    const std::int64_t count = (*reps)[i];
    if (count < 1) return ir::violated("tile_c2", "expected reps of at least 1, got {}", count);
    if (x.shape[i] == kDynamic) continue;
    if (x.shape[i] > kMaxElements / count)
      return ir::violated("tile_c3", "expected at most 2^40 elements along axis {}", i);
    shape[i] = x.shape[i] * count;
  }
  return add_output(outputs, "tile_c3", x.dtype, std::move(shape));
}

}  // namespace

ir::OpSchema tile_schema() {
  return {
      .name = "tile",
      .parameters = {{.name = "x", .dtypes = kFloatsInt32Bool}, {.name = "reps", .dtypes = kInt32}},
      .infer = infer_tile};
}

}  // namespace anemone::ops
