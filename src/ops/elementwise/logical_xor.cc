// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema logical_xor_schema() {
  return binary_schema("logical_xor", kBool);
}

}  // namespace anemone::ops
