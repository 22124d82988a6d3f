// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status linear_activation_kernel(const KernelCall& call) {
  const auto alpha = static_cast<float>(call.number("alpha", 0));
  const auto beta = static_cast<float>(call.number("beta", 0));
  return unary_float(call, [alpha, beta](float x) { return alpha * x + beta; });
}

}  // namespace anemone::kernels::reference
