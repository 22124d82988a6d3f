// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"
#include "ops/shape/slicing.h"

namespace anemone::ops {
namespace {

Status infer_slice_by_index(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  constexpr auto k17 = ir::Opset::kIOS17;
  ANEMONE_RETURN_IF_ERROR(check_dtypes_before(context, k17, {"x"}, kAny15, "slice_by_index_c1"));
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, k17, {"begin", "end", "stride"}, kInt32, "slice_by_index_c1"));
  ANEMONE_ASSIGN_OR_RETURN(Shape shape, slice_shape(context, "slice_by_index"));
  return add_output(outputs, "slice_by_index_c3", context.type("x").dtype, std::move(shape));
}

}  // namespace

ir::OpSchema slice_by_index_schema() {
  ir::OpSchema schema{
      .name = "slice_by_index", .parameters = slice_parameters(), .infer = infer_slice_by_index};
  schema.parameters.insert(schema.parameters.begin(), {.name = "x", .dtypes = kAny});
  return schema;
}

}  // namespace anemone::ops
