// SPDX-License-Identifier: Apache-2.0
// The schemas of the reduction operations. A family of operations that share code has one file and
// one function for all; each of the others has a file and a function to itself.
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
