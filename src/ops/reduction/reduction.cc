// SPDX-License-Identifier: Apache-2.0
#include "ops/reduction/reduction.h"

#include "ops/categories.h"

namespace anemone::ops {

void add_reduction(std::vector<ir::OpSchema>& schemas) {
  for (auto make :
       {argsort_schema, cumsum_schema, one_hot_schema, reduce_argmax_schema, reduce_argmin_schema,
        reduce_l1_norm_schema, reduce_l2_norm_schema, reduce_log_sum_schema,
        reduce_log_sum_exp_schema, reduce_max_schema, reduce_mean_schema, reduce_min_schema,
        reduce_prod_schema, reduce_sum_schema, reduce_sum_square_schema, topk_schema})
    schemas.push_back(make());
}

}  // namespace anemone::ops
