// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema scaled_tanh_schema() {
  return constants_schema("scaled_tanh", kFloats, {"alpha", "beta"}, true);
}

}  // namespace anemone::ops
