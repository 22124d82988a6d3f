// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema ceil_schema() {
  return unary_schema("ceil", kFloats);
}

}  // namespace anemone::ops
