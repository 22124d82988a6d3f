// SPDX-License-Identifier: Apache-2.0
// Schemas of the category control: blocks, lists, and the classifier head. The interpreter does
// these itself. The verifier, not these rules, checks what the blocks of an operation give: the
// rules take the declared types of the outputs.
#pragma once

#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

std::vector<ir::OpSchema> list_schemas();

ir::OpSchema classify_schema();
ir::OpSchema cond_schema();
ir::OpSchema while_loop_schema();

}  // namespace anemone::ops
