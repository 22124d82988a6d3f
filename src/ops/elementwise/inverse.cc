// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema inverse_schema() {
  return epsilon_schema("inverse", 1e-4);
}

}  // namespace anemone::ops
