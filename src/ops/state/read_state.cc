// SPDX-License-Identifier: Apache-2.0
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/state/state.h"

namespace anemone::ops {

ir::OpSchema read_state_schema() {
  ir::OpSchema schema;
  schema.name = "read_state";
  schema.since = ir::Opset::kIOS18;
  schema.parameters = {operand("input", {})};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    const ir::Type& state = context.type("input");
    if (!state.is_state())
      return ir::violated("read_state_c1", "expected a state, got {}", to_string(state));
    return add_output(outputs, "read_state_c2", state.dtype, state.shape);
  };
  schema.has_side_effects = true;
  return schema;
}

}  // namespace anemone::ops
