// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status square_kernel(const KernelCall& call) {
  return unary_numeric(call, [](auto x) { return x * x; });
}

}  // namespace anemone::kernels::reference
