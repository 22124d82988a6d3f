// SPDX-License-Identifier: Apache-2.0
// The reference kernels of the reduction operations, one file each.
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

Status argsort_kernel(const KernelCall& call);
Status cumsum_kernel(const KernelCall& call);
Status one_hot_kernel(const KernelCall& call);
Status reduce_argmax_kernel(const KernelCall& call);
Status reduce_argmin_kernel(const KernelCall& call);
Status reduce_l1_norm_kernel(const KernelCall& call);
Status reduce_l2_norm_kernel(const KernelCall& call);
Status reduce_log_sum_kernel(const KernelCall& call);
Status reduce_log_sum_exp_kernel(const KernelCall& call);
Status reduce_max_kernel(const KernelCall& call);
Status reduce_mean_kernel(const KernelCall& call);
Status reduce_min_kernel(const KernelCall& call);
Status reduce_prod_kernel(const KernelCall& call);
Status reduce_sum_kernel(const KernelCall& call);
Status reduce_sum_square_kernel(const KernelCall& call);
Status topk_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
