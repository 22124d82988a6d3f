// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/random/random.h"

namespace anemone::ops {

void add_random(std::vector<ir::OpSchema>& schemas) {
  schemas.push_back(random_bernoulli_schema());
  schemas.push_back(random_categorical_schema());
  schemas.push_back(random_normal_schema());
  schemas.push_back(random_uniform_schema());
}

}  // namespace anemone::ops
