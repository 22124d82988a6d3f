// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema less_schema() {
  return comparison_schema("less");
}

}  // namespace anemone::ops
