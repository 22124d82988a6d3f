// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/params.h"
#include "ops/pool/pool.h"
#include "ops/pool/pooling.h"

namespace anemone::ops {

ir::OpSchema avg_pool_schema() {
  ir::OpSchema schema = pooling_schema("avg_pool", 3);
  schema.parameters.push_back(
      defaulted("exclude_padding_from_average", kBool, ir::Literal::boolean(false)));
  return schema;
}

}  // namespace anemone::ops
