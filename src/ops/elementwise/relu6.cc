// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema relu6_schema() {
  return unary_schema("relu6", kFloats);
}

}  // namespace anemone::ops
