// SPDX-License-Identifier: Apache-2.0
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/control/control.h"

namespace anemone::ops {

// The list with element indices[i] replaced by value[i], for all i.
ir::OpSchema list_scatter_schema() {
  ir::OpSchema schema;
  schema.name = "list_scatter";
  schema.parameters = {operand("ls", {}), list_index("indices"), list_value()};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    ANEMONE_ASSIGN_OR_RETURN(ir::Type list, list_type(context, "list_scatter_c1"));
    ANEMONE_RETURN_IF_ERROR(check_vector(context, "indices", kDynamic, "list_scatter_c2"));
    const ir::Type& value = context.type("value");
    if (value.shape.empty() || !dims_agree(value.shape[0], context.type("indices").shape[0]))
      return ir::violated("list_scatter_c2", "expected one value an index, got {} for {}",
                          to_string(value), to_string(context.type("indices")));
    const ir::Type item =
        ir::Type::tensor(value.dtype, Shape(value.shape.begin() + 1, value.shape.end()));
    const ir::Type* element = element_type(list);
    if (element == nullptr)
      list.members = {item};
    else if (!is_compatible(*element, item))
      return ir::violated("list_scatter_c3", "expected values that fit {}, got {}", to_string(list),
                          to_string(value));
    outputs.push_back(std::move(list));
    return {};
  };
  return schema;
}

}  // namespace anemone::ops
