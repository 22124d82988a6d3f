// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema greater_equal_schema() {
  return comparison_schema("greater_equal");
}

}  // namespace anemone::ops
