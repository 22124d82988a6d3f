// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status sigmoid_hard_kernel(const KernelCall& call) {
  const auto alpha = static_cast<float>(call.number("alpha", 0));
  const auto beta = static_cast<float>(call.number("beta", 0));
  return unary_float(call, [alpha, beta](float x) {
    const float y = alpha * x + beta;
    return y < 0.0f ? 0.0f : y > 1.0f ? 1.0f : y;
  });
}

}  // namespace anemone::kernels::reference
