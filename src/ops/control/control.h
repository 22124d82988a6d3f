// SPDX-License-Identifier: Apache-2.0
// Schemas of the category control: blocks, lists, and the classifier head. The interpreter does
// these itself. What the blocks of an operation give is seen by the verifier, not here: the rules
// take the declared types of the outputs.
#pragma once

#include <string_view>

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema classify_schema();
ir::OpSchema cond_schema();
ir::OpSchema list_gather_schema();
ir::OpSchema list_length_schema();
ir::OpSchema list_read_schema();
ir::OpSchema list_scatter_schema();
ir::OpSchema list_write_schema();
ir::OpSchema make_list_schema();
ir::OpSchema while_loop_schema();

// The list parameter `ls`, which must be one. Errors carry `label`.
Result<ir::Type> list_type(const ir::InferContext& context, std::string_view label);
// The element type of a list, nullptr when the program leaves it open.
const ir::Type* element_type(const ir::Type& list);
// The index of a list operation, a number or a vector of numbers.
ir::Parameter list_index(std::string_view name);
// The value that goes into a list.
ir::Parameter list_value();

}  // namespace anemone::ops
