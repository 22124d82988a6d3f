// SPDX-License-Identifier: Apache-2.0
#include "ops/common/params.h"
#include "ops/control/control.h"

namespace anemone::ops {

ir::OpSchema list_length_schema() {
  ir::OpSchema schema;
  schema.name = "list_length";
  schema.parameters = {operand("ls", {})};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    ANEMONE_RETURN_IF_ERROR(list_type(context, "list_length_c1").status());
    outputs.push_back(ir::Type::scalar(DType::kInt32));
    return {};
  };
  return schema;
}

}  // namespace anemone::ops
