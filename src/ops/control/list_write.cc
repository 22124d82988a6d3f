// SPDX-License-Identifier: Apache-2.0
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/control/control.h"

namespace anemone::ops {

// The list with one element replaced or appended. A list whose element type is open takes it from
// the value.
ir::OpSchema list_write_schema() {
  ir::OpSchema schema;
  schema.name = "list_write";
  schema.parameters = {operand("ls", {}), list_index("index"), list_value()};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    ANEMONE_ASSIGN_OR_RETURN(ir::Type list, list_type(context, "list_write_c1"));
    ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"index"}, "list_write_c2"));
    const ir::Type& value = context.type("value");
    const ir::Type* element = element_type(list);
    if (element == nullptr)
      list.members = {value};
    else if (!is_compatible(*element, value))
      return ir::violated("list_write_c3", "expected a value that fits {}, got {}", to_string(list),
                          to_string(value));
    outputs.push_back(std::move(list));
    return {};
  };
  return schema;
}

}  // namespace anemone::ops
