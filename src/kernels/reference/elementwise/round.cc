// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

// Half goes to even, the rounding mode that every thread starts with.
Status round_kernel(const KernelCall& call) {
  return unary_float(call, [](float x) { return std::nearbyint(x); });
}

}  // namespace anemone::kernels::reference
