// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/state/state.h"

namespace anemone::ops {

void add_state(std::vector<ir::OpSchema>& schemas) {
  schemas.push_back(const_schema());
  schemas.push_back(read_state_schema());
  schemas.push_back(write_state_schema());
}

}  // namespace anemone::ops
