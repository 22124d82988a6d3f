// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/control/control.h"

namespace anemone::ops {

ir::OpSchema cond_schema() {
  ir::OpSchema schema;
  schema.name = "cond";
  schema.parameters = {operand("pred", kBool)};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"pred"}, "cond_c1"));
    for (std::size_t i = 0; i < context.output_count(); ++i)
      outputs.push_back(*context.declared_output(i));
    return {};
  };
  // Its blocks may write states.
  schema.has_side_effects = true;
  return schema;
}

}  // namespace anemone::ops
