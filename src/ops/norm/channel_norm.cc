// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/norm/norm.h"

namespace anemone::ops {

ir::Parameter epsilon_parameter(double value) {
  return defaulted("epsilon", kFloats, [value](const ir::InferContext& context) {
    const std::string_view source = context.has("mean")    ? "mean"
                                    : context.has("gamma") ? "gamma"
                                    : context.has("beta")  ? "beta"
                                                           : "x";
    return ir::Literal::number(value, context.type(source).dtype);
  });
}

Status infer_channel_norm(const ir::InferContext& context, std::string_view op,
                          std::initializer_list<std::string_view> vectors,
                          std::vector<ir::Type>& outputs) {
  const std::string name(op);
  const ir::Type& x = context.type("x");
  if (x.shape.size() < 3)
    return ir::violated(name + "_c1", "expected x of rank 3 or more, got {}", to_string(x.shape));
  for (const std::string_view vector : vectors) {
    ANEMONE_RETURN_IF_ERROR(check_vector(context, vector, x.shape[1], name + "_c2"));
    ANEMONE_RETURN_IF_ERROR(check_same_dtype_before_17(context, {vector}, name + "_c3"));
  }
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"epsilon"}, name + "_c4"));
  outputs.push_back(x);
  return {};
}

}  // namespace anemone::ops
