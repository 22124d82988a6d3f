// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema log_schema() {
  return epsilon_schema("log", 1e-45);
}

}  // namespace anemone::ops
