// SPDX-License-Identifier: Apache-2.0
#include "ops/common/params.h"
#include "ops/state/state.h"

namespace anemone::ops {

// What a package holds for the update of a state; it has no output.
ir::OpSchema write_state_schema() {
  ir::OpSchema schema;
  schema.name = "write_state";
  schema.since = ir::Opset::kIOS18;
  schema.parameters = {operand("input", {}), operand("data", {})};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>&) -> Status {
    const ir::Type& state = context.type("input");
    const ir::Type& data = context.type("data");
    if (!state.is_state())
      return ir::violated("write_state_c1", "expected a state, got {}", to_string(state));
    if (!is_compatible(ir::Type::tensor(state.dtype, state.shape), data))
      return ir::violated("write_state_c2", "expected data that fits {}, got {}", to_string(state),
                          to_string(data));
    return {};
  };
  schema.has_side_effects = true;
  return schema;
}

}  // namespace anemone::ops
