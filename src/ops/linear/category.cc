// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/linear/linear.h"

namespace anemone::ops {

void add_linear(std::vector<ir::OpSchema>& schemas) {
  for (auto make :
       {conv_schema, conv_transpose_schema, einsum_schema, linear_schema, matmul_schema})
    schemas.push_back(make());
}

}  // namespace anemone::ops
