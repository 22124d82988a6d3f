// SPDX-License-Identifier: Apache-2.0
#include "ops/reduction/families.h"
#include "ops/reduction/reduction.h"

namespace anemone::ops {

ir::OpSchema reduce_mean_schema() {
  return reduction_schema("reduce_mean");
}

}  // namespace anemone::ops
