// SPDX-License-Identifier: Apache-2.0
#include "ops/control/control.h"

#include "ops/categories.h"
#include "ops/common/dtypes.h"
#include "ops/common/params.h"

namespace anemone::ops {

void add_control(std::vector<ir::OpSchema>& schemas) {
  schemas.push_back(classify_schema());
  schemas.push_back(cond_schema());
  schemas.push_back(list_gather_schema());
  schemas.push_back(list_length_schema());
  schemas.push_back(list_read_schema());
  schemas.push_back(list_scatter_schema());
  schemas.push_back(list_write_schema());
  schemas.push_back(make_list_schema());
  schemas.push_back(while_loop_schema());
}

Result<ir::Type> list_type(const ir::InferContext& context, std::string_view label) {
  const ir::Type& type = context.type("ls");
  if (type.kind != ir::Type::Kind::kList)
    return ir::violated(label, "expected a list, got {}", to_string(type));
  return type;
}

const ir::Type* element_type(const ir::Type& list) {
  return list.members.empty() || !list.members[0].is_tensor() ? nullptr : &list.members[0];
}

ir::Parameter list_index(std::string_view name) {
  return operand(name, kInt32);
}

ir::Parameter list_value() {
  return operand("value", kAny15);
}

}  // namespace anemone::ops
