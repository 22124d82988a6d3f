// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/norm/norm.h"

namespace anemone::ops {
namespace {

ir::Literal all_axes(const ir::InferContext& context) {
  std::vector<std::int32_t> axes(context.type("x").shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  return ir::Literal::int32s(axes);
}

Status infer_layer_norm(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const std::size_t rank = x.shape.size();
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "axes", kDynamic, "layer_norm_c1"));
  Shape normalized = x.shape;
  if (context.has("axes")) {
    const auto axes = context.ints("axes");
    if (!axes) return ir::violated("layer_norm_c1", "expected known axes");
    ANEMONE_RETURN_IF_ERROR(checked_axes(*axes, rank, "layer_norm_c1").status());
    normalized.clear();
    for (const std::int64_t axis : *axes)
      normalized.push_back(x.shape[static_cast<std::size_t>(
          axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)]);
  }
  for (const std::string_view name : {"gamma", "beta"})
    if (context.has(name))
      ANEMONE_RETURN_IF_ERROR(merge_shapes(context.type(name).shape, normalized,
                                           "gamma, beta and the normalized axes", "layer_norm_c2")
                                  .status());
  ANEMONE_RETURN_IF_ERROR(check_same_dtype_before_17(context, {"gamma", "beta"}, "layer_norm_c3"));
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"epsilon"}, "layer_norm_c4"));
  outputs.push_back(x);
  return {};
}

}  // namespace

ir::OpSchema layer_norm_schema() {
  ir::OpSchema schema;
  schema.name = "layer_norm";
  schema.parameters = {
      operand("x", kFloats),
      defaulted("axes", kInt32, all_axes),
      optional(constant("gamma", kFloats, 'U')),
      optional(constant("beta", kFloats, 'U')),
      epsilon_parameter(1e-5),
  };
  schema.infer = infer_layer_norm;
  return schema;
}

}  // namespace anemone::ops
