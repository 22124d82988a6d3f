// SPDX-License-Identifier: Apache-2.0
#include "ops/common/params.h"
#include "ops/state/state.h"

namespace anemone::ops {

// The value is an attribute, which the verifier checks against the declared output.
ir::OpSchema const_schema() {
  ir::OpSchema schema;
  schema.name = "const";
  schema.parameters = {constant("val", {})};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    outputs.push_back(context.type("val"));
    return {};
  };
  return schema;
}

}  // namespace anemone::ops
