// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema atan_schema() {
  return unary_schema("atan", kFloats);
}

}  // namespace anemone::ops
