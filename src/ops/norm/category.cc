// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/norm/norm.h"

namespace anemone::ops {

void add_norm(std::vector<ir::OpSchema>& schemas) {
  schemas.push_back(batch_norm_schema());
  schemas.push_back(instance_norm_schema());
  schemas.push_back(l2_norm_schema());
  schemas.push_back(layer_norm_schema());
  schemas.push_back(local_response_norm_schema());
  schemas.push_back(scaled_dot_product_attention_schema());
  schemas.push_back(softmax_schema());
}

}  // namespace anemone::ops
