// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/linear.h"

#include <algorithm>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"

namespace anemone::ops {
namespace {

ir::Literal zero_bias(const ir::InferContext& context) {
  const ir::Type& weight = context.type("weight");
  const std::int64_t count = weight.shape.empty() ? 0 : std::max<std::int64_t>(0, weight.shape[0]);
  return ir::Literal::of(Tensor(weight.dtype, {count}));
}

// Core ML's documentation gives x a rank of 1 to 3; converters write more and it is the same sum.
Status infer_linear(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const ir::Type& weight = context.type("weight");
  if (x.shape.empty() || weight.shape.size() != 2)
    return ir::violated("linear_c1",
                        "expected x of rank 1 or more and weight of rank 2, got {} and {}",
                        to_string(x.shape), to_string(weight.shape));
  if (!dims_agree(x.shape.back(), weight.shape[1]))
    return ir::violated("linear_c2", "expected x with {} features, got {}", weight.shape[1],
                        x.shape.back());
  if (context.has("bias")) {
    const Shape& bias = context.type("bias").shape;
    if (bias.size() != 1 || !dims_agree(bias[0], weight.shape[0]))
      return ir::violated("linear_c3", "expected a bias of [{}], got {}", weight.shape[0],
                          to_string(bias));
  }
  ANEMONE_RETURN_IF_ERROR(check_same_dtype_before_17(context, {"weight"}, "linear_c4"));
  Shape out = x.shape;
  out.back() = weight.shape[0];
  return add_output(outputs, "linear_c5", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema linear_schema() {
  ir::Parameter bias = defaulted("bias", kNumeric, zero_bias);
  bias.dtype_letter = 'U';
  ir::OpSchema schema;
  schema.name = "linear";
  schema.parameters = {operand("x", kNumeric), constant("weight", kNumeric, 'U'), std::move(bias)};
  schema.infer = infer_linear;
  return schema;
}

}  // namespace anemone::ops
