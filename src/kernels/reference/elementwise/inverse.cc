// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status inverse_kernel(const KernelCall& call) {
  const auto epsilon = static_cast<float>(call.number("epsilon", 1e-4));
  return unary_float(call, [epsilon](float x) { return 1.0f / (x + epsilon); });
}

}  // namespace anemone::kernels::reference
