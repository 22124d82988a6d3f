// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema not_equal_schema() {
  return comparison_schema("not_equal");
}

}  // namespace anemone::ops
