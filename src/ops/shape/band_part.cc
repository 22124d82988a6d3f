// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_band_part(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"lower", "upper"}, "band_part_c1"));
  const ir::Type& x = context.type("x");
  if (x.shape.size() < 2)
    return ir::violated("band_part_c2", "expected x of rank 2 or more, got {}", to_string(x.shape));
  outputs.push_back(x);
  return ok_status();
}

ir::Parameter diagonals(std::string_view name) {
  return {.name = name,
          .dtypes = kInt32,
          .presence = ir::Parameter::Presence::kDefaulted,
          .is_const = true,
          .default_value = [](const ir::InferContext&) { return ir::Literal::int32(-1); }};
}

}  // namespace

ir::OpSchema band_part_schema() {
  return {.name = "band_part",
          .parameters = {{.name = "x", .dtypes = kFloatsInt32Bool},
                         diagonals("lower"),
                         diagonals("upper")},
          .infer = infer_band_part};
}

}  // namespace anemone::ops
