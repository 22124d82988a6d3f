// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema atanh_schema() {
  return unary_schema("atanh", kFloats);
}

}  // namespace anemone::ops
