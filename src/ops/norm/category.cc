// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/norm/norm.h"

namespace anemone::ops {

void add_norm(std::vector<ir::OpSchema>& schemas) {
  for (auto make :
       {batch_norm_schema, instance_norm_schema, l2_norm_schema, layer_norm_schema,
        local_response_norm_schema, scaled_dot_product_attention_schema, softmax_schema})
    schemas.push_back(make());
}

}  // namespace anemone::ops
