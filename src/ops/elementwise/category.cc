// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "ops/categories.h"
#include "ops/elementwise/elementwise.h"

namespace anemone::ops {

void add_elementwise(std::vector<ir::OpSchema>& schemas) {
  for (auto family : {activation_schemas, binary_schemas, comparison_schemas, unary_schemas})
    std::ranges::move(family(), std::back_inserter(schemas));
  for (auto make : {cast_schema, clip_schema, gelu_schema, select_schema})
    schemas.push_back(make());
}

}  // namespace anemone::ops
