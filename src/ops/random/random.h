// SPDX-License-Identifier: Apache-2.0
// Schemas of the category random. Same seed, same numbers; a seed of -1 gives others on every run.
#pragma once

#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

std::vector<ir::OpSchema> distribution_schemas();

}  // namespace anemone::ops
