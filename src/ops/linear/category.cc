// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/linear/linear.h"

namespace anemone::ops {

void add_linear(std::vector<ir::OpSchema>& schemas) {
  schemas.push_back(conv_schema());
  schemas.push_back(conv_transpose_schema());
  schemas.push_back(einsum_schema());
  schemas.push_back(linear_schema());
  schemas.push_back(matmul_schema());
}

}  // namespace anemone::ops
