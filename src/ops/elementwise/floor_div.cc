// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema floor_div_schema() {
  return binary_schema("floor_div", kNumeric);
}

}  // namespace anemone::ops
