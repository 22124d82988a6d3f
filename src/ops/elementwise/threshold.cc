// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema threshold_schema() {
  return constants_schema("threshold", kNumeric, {"alpha"}, false);
}

}  // namespace anemone::ops
