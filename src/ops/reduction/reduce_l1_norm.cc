// SPDX-License-Identifier: Apache-2.0
#include "ops/reduction/families.h"
#include "ops/reduction/reduction.h"

namespace anemone::ops {

ir::OpSchema reduce_l1_norm_schema() {
  return reduction_schema("reduce_l1_norm");
}

}  // namespace anemone::ops
