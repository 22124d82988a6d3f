// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema exp2_schema() {
  return unary_schema("exp2", kNumeric);
}

}  // namespace anemone::ops
