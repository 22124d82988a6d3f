// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "ops/categories.h"
#include "ops/control/control.h"

namespace anemone::ops {

void add_control(std::vector<ir::OpSchema>& schemas) {
  for (auto family : {list_schemas}) std::ranges::move(family(), std::back_inserter(schemas));
  for (auto make : {classify_schema, cond_schema, while_loop_schema}) schemas.push_back(make());
}

}  // namespace anemone::ops
