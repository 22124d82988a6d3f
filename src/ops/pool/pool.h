// SPDX-License-Identifier: Apache-2.0
// Schemas of the category pool: windows that slide over the spatial axes of [batch, channels, ...].
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema avg_pool_schema();
ir::OpSchema l2_pool_schema();
ir::OpSchema max_pool_schema();

}  // namespace anemone::ops
