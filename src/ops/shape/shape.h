// SPDX-License-Identifier: Apache-2.0
// The shape operations, one file each.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema concat_schema();
ir::OpSchema expand_dims_schema();
ir::OpSchema reshape_schema();
ir::OpSchema slice_by_index_schema();
ir::OpSchema slice_by_size_schema();
ir::OpSchema slice_update_schema();
ir::OpSchema split_schema();
ir::OpSchema squeeze_schema();
ir::OpSchema stack_schema();
ir::OpSchema transpose_schema();

}  // namespace anemone::ops
