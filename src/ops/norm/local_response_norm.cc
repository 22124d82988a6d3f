// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/norm/norm.h"

namespace anemone::ops {
namespace {

Status infer_local_response(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  if (x.shape.size() < 3)
    return ir::violated("local_response_norm_c1", "expected x of rank 3 or more, got {}",
                        to_string(x.shape));
  ANEMONE_RETURN_IF_ERROR(
      integer_parameter(context, "size", 1, 1, "local_response_norm_c2").status());
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"alpha", "beta", "k"}, "local_response_norm_c3"));
  outputs.push_back(x);
  return ok_status();
}

// The dtypes of the three need not agree: coremltools writes its defaults as fp32.
ir::Parameter response_constant(std::string_view name, double value) {
  return defaulted(name, kFloats, [value](const ir::InferContext& context) {
    return ir::Literal::number(value, context.type("x").dtype);
  });
}

}  // namespace

ir::OpSchema local_response_norm_schema() {
  ir::OpSchema schema;
  schema.name = "local_response_norm";
  schema.parameters = {operand("x", kFloats), constant("size", kInt32),
                       response_constant("alpha", 1e-4), response_constant("beta", 0.75),
                       response_constant("k", 1.0)};
  schema.infer = infer_local_response;
  return schema;
}

}  // namespace anemone::ops
