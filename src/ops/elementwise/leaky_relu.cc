// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema leaky_relu_schema() {
  return constants_schema("leaky_relu", kFloats, {"alpha"}, true);
}

}  // namespace anemone::ops
