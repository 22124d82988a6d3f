// SPDX-License-Identifier: Apache-2.0
#include "ops/pool/pool.h"
#include "ops/pool/pooling.h"

namespace anemone::ops {

ir::OpSchema l2_pool_schema() {
  return pooling_schema("l2_pool", 2);
}

}  // namespace anemone::ops
