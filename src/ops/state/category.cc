// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/state/state.h"

namespace anemone::ops {

void add_state(std::vector<ir::OpSchema>& schemas) {
  for (auto make : {const_schema, read_state_schema, write_state_schema}) schemas.push_back(make());
}

}  // namespace anemone::ops
