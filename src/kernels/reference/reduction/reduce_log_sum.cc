// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reduction/accumulators.h"
#include "kernels/reference/reduction/reduce.h"
#include "kernels/reference/reduction/reduction.h"

namespace anemone::kernels::reference {

Status reduce_log_sum_kernel(const KernelCall& call) {
  return reduce_with<LogSum>(call);
}

}  // namespace anemone::kernels::reference
