// SPDX-License-Identifier: Apache-2.0
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/control/control.h"

namespace anemone::ops {

ir::OpSchema list_read_schema() {
  ir::OpSchema schema;
  schema.name = "list_read";
  schema.parameters = {operand("ls", {}), list_index("index")};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    ANEMONE_ASSIGN_OR_RETURN(const ir::Type list, list_type(context, "list_read_c1"));
    ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"index"}, "list_read_c2"));
    const ir::Type* element = element_type(list);
    if (element == nullptr)
      return ir::violated("list_read_c3", "expected a list with an element type, got {}",
                          to_string(list));
    outputs.push_back(*element);
    return {};
  };
  return schema;
}

}  // namespace anemone::ops
