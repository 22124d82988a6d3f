// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "ops/categories.h"
#include "ops/pool/pool.h"

namespace anemone::ops {

void add_pool(std::vector<ir::OpSchema>& schemas) {
  for (auto family : {pooling_schemas}) std::ranges::move(family(), std::back_inserter(schemas));
}

}  // namespace anemone::ops
