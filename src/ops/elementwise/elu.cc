// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema elu_schema() {
  return constants_schema("elu", kFloats, {"alpha"}, true);
}

}  // namespace anemone::ops
