// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status thresholded_relu_kernel(const KernelCall& call) {
  const auto alpha = static_cast<float>(call.number("alpha", 0));
  return unary_float(call, [alpha](float x) { return x < alpha ? 0.0f : x; });
}

}  // namespace anemone::kernels::reference
