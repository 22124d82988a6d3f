// SPDX-License-Identifier: Apache-2.0
#include "ops/reduction/families.h"
#include "ops/reduction/reduction.h"

namespace anemone::ops {

ir::OpSchema reduce_argmax_schema() {
  return position_schema("reduce_argmax");
}

}  // namespace anemone::ops
