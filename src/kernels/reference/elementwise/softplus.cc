// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

// log(1 + exp(x)) without an exponential that overflows.
Status softplus_kernel(const KernelCall& call) {
  return unary_float(
      call, [](float x) { return std::fmax(x, 0.0f) + std::log1p(std::exp(-std::fabs(x))); });
}

}  // namespace anemone::kernels::reference
