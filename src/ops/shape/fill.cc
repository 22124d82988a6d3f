// SPDX-License-Identifier: Apache-2.0
// Tensors of one value.
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

ir::Parameter value_parameter() {
  return defaulted("value", kFloatsInt32Bool, ir::Literal::number(0, DType::kFp32));
}

Status infer_fill(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "shape", kDynamic, "fill_c1"));
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"value"}, "fill_c1"));
  const auto known = context.ints("shape");
  const std::int64_t rank =
      known ? static_cast<std::int64_t>(known->size()) : context.type("shape").shape[0];
  if (rank < 0 || rank > kMaxRank)
    return ir::violated("fill_c2", "expected a shape of at most {} dimensions", kMaxRank);
  Shape shape = known ? *known : Shape(static_cast<std::size_t>(rank), kDynamic);
  for (const std::int64_t dim : shape)
    if (known && dim < 0)
      return ir::violated("fill_c3", "expected dimensions of at least 0, got {}", dim);
  const DType dtype = context.has("value") ? context.type("value").dtype : DType::kFp32;
  return add_output(outputs, "fill_c3", dtype, std::move(shape));
}

ir::OpSchema fill_schema() {
  return {.name = "fill",
          .parameters = {{.name = "shape", .dtypes = kInt32}, value_parameter()},
          .infer = infer_fill};
}

Status infer_fill_like(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"value"}, "fill_like_c1"));
  const DType dtype = context.has("value") ? context.type("value").dtype : DType::kFp32;
  return add_output(outputs, "fill_like_c2", dtype, context.type("ref_tensor").shape);
}

ir::OpSchema fill_like_schema() {
  return {.name = "fill_like",
          .since = ir::Opset::kIOS16,
          .parameters = {{.name = "ref_tensor", .dtypes = kFloatsInt32Bool}, value_parameter()},
          .infer = infer_fill_like};
}

}  // namespace

std::vector<ir::OpSchema> fill_schemas() {
  return {fill_schema(), fill_like_schema()};
}

}  // namespace anemone::ops
