// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "ops/categories.h"
#include "ops/random/random.h"

namespace anemone::ops {

void add_random(std::vector<ir::OpSchema>& schemas) {
  for (auto family : {distribution_schemas})
    std::ranges::move(family(), std::back_inserter(schemas));
}

}  // namespace anemone::ops
