// SPDX-License-Identifier: Apache-2.0
#include "ops/reduction/families.h"
#include "ops/reduction/reduction.h"

namespace anemone::ops {

ir::OpSchema reduce_argmin_schema() {
  return position_schema("reduce_argmin");
}

}  // namespace anemone::ops
