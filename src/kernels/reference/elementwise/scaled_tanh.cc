// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status scaled_tanh_kernel(const KernelCall& call) {
  const auto alpha = static_cast<float>(call.number("alpha", 0));
  const auto beta = static_cast<float>(call.number("beta", 0));
  return unary_float(call, [alpha, beta](float x) { return alpha * std::tanh(beta * x); });
}

}  // namespace anemone::kernels::reference
