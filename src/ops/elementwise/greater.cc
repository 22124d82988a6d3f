// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema greater_schema() {
  return comparison_schema("greater");
}

}  // namespace anemone::ops
