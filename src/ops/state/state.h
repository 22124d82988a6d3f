// SPDX-License-Identifier: Apache-2.0
// Schemas of the category state: constants, and reading and writing states. The interpreter does
// these itself, there are no kernels.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema const_schema();
ir::OpSchema read_state_schema();
ir::OpSchema write_state_schema();

}  // namespace anemone::ops
