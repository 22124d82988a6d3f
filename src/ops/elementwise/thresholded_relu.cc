// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema thresholded_relu_schema() {
  return constants_schema("thresholded_relu", kFloats, {"alpha"}, true);
}

}  // namespace anemone::ops
