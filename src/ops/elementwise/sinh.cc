// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema sinh_schema() {
  return unary_schema("sinh", kFloats);
}

}  // namespace anemone::ops
