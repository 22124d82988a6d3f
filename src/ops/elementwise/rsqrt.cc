// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema rsqrt_schema() {
  return epsilon_schema("rsqrt", 1e-12);
}

}  // namespace anemone::ops
