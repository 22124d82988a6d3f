// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/binary.h"
#include "kernels/reference/elementwise/elementwise.h"

namespace anemone::kernels::reference {

// NaN wins, as in numpy.
Status minimum_kernel(const KernelCall& call) {
  return binary_numeric(call, [](auto a, auto b) { return a < b || a != a ? a : b; });
}

}  // namespace anemone::kernels::reference
