// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema equal_schema() {
  return comparison_schema("equal");
}

}  // namespace anemone::ops
