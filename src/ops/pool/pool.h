// SPDX-License-Identifier: Apache-2.0
// Schemas of the category pool: windows that slide over the spatial axes of [batch, channels, ...].
#pragma once

#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

std::vector<ir::OpSchema> pooling_schemas();

}  // namespace anemone::ops
