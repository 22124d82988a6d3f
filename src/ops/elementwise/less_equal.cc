// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema less_equal_schema() {
  return comparison_schema("less_equal");
}

}  // namespace anemone::ops
