// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/indexing/indexing.h"

namespace anemone::ops {

void add_indexing(std::vector<ir::OpSchema>& schemas) {
  for (auto make : {gather_along_axis_schema, gather_nd_schema, gather_schema, non_zero_schema,
                    scatter_along_axis_schema, scatter_nd_schema, scatter_schema})
    schemas.push_back(make());
}

}  // namespace anemone::ops
