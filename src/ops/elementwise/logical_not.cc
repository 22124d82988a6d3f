// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema logical_not_schema() {
  return unary_schema("logical_not", kBool);
}

}  // namespace anemone::ops
