// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reduction/reduction.h"

#include "kernels/reference/categories.h"

namespace anemone::kernels::reference {

void add_reduction(std::vector<KernelEntry>& kernels) {
  static constexpr KernelEntry kEntries[] = {
      {"argsort", argsort_kernel},
      {"cumsum", cumsum_kernel},
      {"one_hot", one_hot_kernel},
      {"reduce_argmax", reduce_argmax_kernel},
      {"reduce_argmin", reduce_argmin_kernel},
      {"reduce_l1_norm", reduce_l1_norm_kernel},
      {"reduce_l2_norm", reduce_l2_norm_kernel},
      {"reduce_log_sum", reduce_log_sum_kernel},
      {"reduce_log_sum_exp", reduce_log_sum_exp_kernel},
      {"reduce_max", reduce_max_kernel},
      {"reduce_mean", reduce_mean_kernel},
      {"reduce_min", reduce_min_kernel},
      {"reduce_prod", reduce_prod_kernel},
      {"reduce_sum", reduce_sum_kernel},
      {"reduce_sum_square", reduce_sum_square_kernel},
      {"topk", topk_kernel},
  };
  kernels.insert(kernels.end(), std::begin(kEntries), std::end(kEntries));
}

}  // namespace anemone::kernels::reference
