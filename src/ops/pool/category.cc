// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/pool/pool.h"

namespace anemone::ops {

void add_pool(std::vector<ir::OpSchema>& schemas) {
  schemas.push_back(avg_pool_schema());
  schemas.push_back(l2_pool_schema());
  schemas.push_back(max_pool_schema());
}

}  // namespace anemone::ops
