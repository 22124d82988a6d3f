// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema clamped_relu_schema() {
  return constants_schema("clamped_relu", kFloats, {"alpha", "beta"}, true);
}

}  // namespace anemone::ops
