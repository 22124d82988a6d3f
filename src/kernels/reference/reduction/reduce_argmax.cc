// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reduction/ordering.h"
#include "kernels/reference/reduction/reduction.h"

namespace anemone::kernels::reference {

Status reduce_argmax_kernel(const KernelCall& call) {
  return first_extreme(call, true);
}

}  // namespace anemone::kernels::reference
