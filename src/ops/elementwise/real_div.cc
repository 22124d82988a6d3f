// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema real_div_schema() {
  return binary_schema("real_div", kNumeric);
}

}  // namespace anemone::ops
