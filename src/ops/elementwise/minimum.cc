// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema minimum_schema() {
  return binary_schema("minimum", kNumeric);
}

}  // namespace anemone::ops
