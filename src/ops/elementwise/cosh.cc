// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema cosh_schema() {
  return unary_schema("cosh", kFloats);
}

}  // namespace anemone::ops
