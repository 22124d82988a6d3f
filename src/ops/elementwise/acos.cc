// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema acos_schema() {
  return unary_schema("acos", kFloats);
}

}  // namespace anemone::ops
