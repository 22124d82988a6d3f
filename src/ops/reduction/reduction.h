// SPDX-License-Identifier: Apache-2.0
// The reduction operations: a table per family, and a file for each with code of its own.
#pragma once

#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

std::vector<ir::OpSchema> reduce_schemas();

ir::OpSchema argsort_schema();
ir::OpSchema cumsum_schema();
ir::OpSchema one_hot_schema();
ir::OpSchema topk_schema();

}  // namespace anemone::ops
