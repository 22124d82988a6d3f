// SPDX-License-Identifier: Apache-2.0
#include "ops/common/params.h"
#include "ops/control/control.h"

namespace anemone::ops {

ir::OpSchema while_loop_schema() {
  ir::Parameter loop_vars = operand("loop_vars", {});
  loop_vars.is_variadic = true;
  ir::OpSchema schema;
  schema.name = "while_loop";
  schema.parameters = {std::move(loop_vars)};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    if (context.output_count() != context.count("loop_vars"))
      return ir::violated("while_loop_c1",
                          "expected one output for each of {} loop variables, got {}",
                          context.count("loop_vars"), context.output_count());
    for (std::size_t i = 0; i < context.output_count(); ++i) {
      const ir::Type& before = context.type("loop_vars", i);
      const ir::Type& after = *context.declared_output(i);
      // Dimensions may change from round to round, what kind of value it is may not.
      if (before.kind != after.kind || before.dtype != after.dtype ||
          before.shape.size() != after.shape.size())
        return ir::violated("while_loop_c2",
                            "expected output {} to be like its loop variable {}, got {}", i,
                            to_string(before), to_string(after));
      outputs.push_back(after);
    }
    return {};
  };
  // Its blocks may write states.
  schema.has_side_effects = true;
  return schema;
}

}  // namespace anemone::ops
