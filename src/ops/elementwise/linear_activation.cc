// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema linear_activation_schema() {
  return constants_schema("linear_activation", kFloats, {"alpha", "beta"}, true);
}

}  // namespace anemone::ops
