// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reduction/accumulators.h"
#include "kernels/reference/reduction/reduce.h"
#include "kernels/reference/reduction/reduction.h"

namespace anemone::kernels::reference {

Status reduce_l1_norm_kernel(const KernelCall& call) {
  return reduce_with<L1Norm>(call);
}

}  // namespace anemone::kernels::reference
