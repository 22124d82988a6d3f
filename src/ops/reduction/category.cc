// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "ops/categories.h"
#include "ops/reduction/reduction.h"

namespace anemone::ops {

void add_reduction(std::vector<ir::OpSchema>& schemas) {
  for (auto family : {reduce_schemas}) std::ranges::move(family(), std::back_inserter(schemas));
  for (auto make : {argsort_schema, cumsum_schema, one_hot_schema, topk_schema})
    schemas.push_back(make());
}

}  // namespace anemone::ops
