// SPDX-License-Identifier: Apache-2.0
#include "ops/common/params.h"
#include "ops/control/control.h"

namespace anemone::ops {

// The class with the highest probability, and a dictionary from class to probability. No operation
// takes these outputs.
ir::OpSchema classify_schema() {
  ir::OpSchema schema;
  schema.name = "classify";
  schema.parameters = {operand("probabilities", {DType::kFp32}), constant("classes", {})};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    const ir::Type& classes = context.type("classes");
    if (classes.kind != ir::Type::Kind::kList)
      return ir::violated("classify_c1", "expected classes to be a list, got {}",
                          to_string(classes));
    if (context.output_count() != 2)
      return ir::violated("classify_c2", "expected a label and a dictionary, got {} outputs",
                          context.output_count());
    for (std::size_t i = 0; i < 2; ++i) outputs.push_back(*context.declared_output(i));
    return {};
  };
  return schema;
}

}  // namespace anemone::ops
