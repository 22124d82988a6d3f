// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reduction/accumulators.h"
#include "kernels/reference/reduction/reduce.h"
#include "kernels/reference/reduction/reduction.h"

namespace anemone::kernels::reference {

Status reduce_max_kernel(const KernelCall& call) {
  return reduce_with<Maximum>(call);
}

}  // namespace anemone::kernels::reference
