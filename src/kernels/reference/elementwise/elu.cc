// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status elu_kernel(const KernelCall& call) {
  const auto alpha = static_cast<float>(call.number("alpha", 0));
  return unary_float(call, [alpha](float x) { return x > 0.0f ? x : alpha * std::expm1(x); });
}

}  // namespace anemone::kernels::reference
