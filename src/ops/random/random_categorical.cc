// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/random/distribution.h"
#include "ops/random/random.h"

namespace anemone::ops {
namespace {

// x [..., classes] -> [..., size], the indices of the drawn classes as floats.
Status infer_categorical(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  if (x.shape.empty() || x.shape.back() == 0)
    return ir::violated("random_categorical_c1", "expected x with at least one class, got {}",
                        to_string(x.shape));
  ANEMONE_RETURN_IF_ERROR(
      choice_parameter(context, "mode", "logits", {"logits", "probs"}, "random_categorical_c2")
          .status());
  Shape out = x.shape;
  ANEMONE_ASSIGN_OR_RETURN(out.back(),
                           integer_parameter(context, "size", 1, 0, "random_categorical_c3"));
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"seed"}, "random_categorical_c3"));
  return add_output(outputs, "random_categorical_c4", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema random_categorical_schema() {
  ir::OpSchema schema;
  schema.name = "random_categorical";
  schema.has_side_effects = true;
  schema.parameters = {operand("x", kFloats), defaulted("mode", kText, ir::Literal::text("logits")),
                       defaulted("size", kInt32, ir::Literal::int32(1)), seed_parameter()};
  schema.infer = infer_categorical;
  return schema;
}

}  // namespace anemone::ops
