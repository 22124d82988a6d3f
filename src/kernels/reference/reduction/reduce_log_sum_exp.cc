// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reduction/accumulators.h"
#include "kernels/reference/reduction/reduce.h"
#include "kernels/reference/reduction/reduction.h"

namespace anemone::kernels::reference {

Status reduce_log_sum_exp_kernel(const KernelCall& call) {
  return reduce_with<LogSumExp>(call);
}

}  // namespace anemone::kernels::reference
