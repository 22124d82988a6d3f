// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

// Written so that NaN stays NaN.
Status relu_kernel(const KernelCall& call) {
  return unary_float(call, [](float x) { return x < 0.0f ? 0.0f : x; });
}

}  // namespace anemone::kernels::reference
