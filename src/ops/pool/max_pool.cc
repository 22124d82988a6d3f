// SPDX-License-Identifier: Apache-2.0
#include "ops/pool/pool.h"
#include "ops/pool/pooling.h"

namespace anemone::ops {

ir::OpSchema max_pool_schema() {
  return pooling_schema("max_pool", 3);
}

}  // namespace anemone::ops
