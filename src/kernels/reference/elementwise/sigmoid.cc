// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status sigmoid_kernel(const KernelCall& call) {
  return unary_float(call, [](float x) { return 1.0f / (1.0f + std::exp(-x)); });
}

}  // namespace anemone::kernels::reference
