// SPDX-License-Identifier: Apache-2.0
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/control/control.h"

namespace anemone::ops {

// The elements at `indices`, stacked: [number of indices, element shape...].
ir::OpSchema list_gather_schema() {
  ir::OpSchema schema;
  schema.name = "list_gather";
  schema.parameters = {operand("ls", {}), list_index("indices")};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    ANEMONE_ASSIGN_OR_RETURN(const ir::Type list, list_type(context, "list_gather_c1"));
    ANEMONE_RETURN_IF_ERROR(check_vector(context, "indices", kDynamic, "list_gather_c2"));
    const ir::Type* element = element_type(list);
    if (element == nullptr)
      return ir::violated("list_gather_c3", "expected a list with an element type, got {}",
                          to_string(list));
    Shape out = element->shape;
    out.insert(out.begin(), context.type("indices").shape[0]);
    return add_output(outputs, "list_gather_c4", element->dtype, std::move(out));
  };
  return schema;
}

}  // namespace anemone::ops
