// SPDX-License-Identifier: Apache-2.0
// The reduction operations, one file each.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema argsort_schema();
ir::OpSchema cumsum_schema();
ir::OpSchema one_hot_schema();
ir::OpSchema reduce_argmax_schema();
ir::OpSchema reduce_argmin_schema();
ir::OpSchema reduce_l1_norm_schema();
ir::OpSchema reduce_l2_norm_schema();
ir::OpSchema reduce_log_sum_schema();
ir::OpSchema reduce_log_sum_exp_schema();
ir::OpSchema reduce_max_schema();
ir::OpSchema reduce_mean_schema();
ir::OpSchema reduce_min_schema();
ir::OpSchema reduce_prod_schema();
ir::OpSchema reduce_sum_schema();
ir::OpSchema reduce_sum_square_schema();
ir::OpSchema topk_schema();

}  // namespace anemone::ops
