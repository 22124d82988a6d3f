// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status log_kernel(const KernelCall& call) {
  const auto epsilon = static_cast<float>(call.number("epsilon", 1e-45));
  return unary_float(call, [epsilon](float x) { return std::log(x + epsilon); });
}

}  // namespace anemone::kernels::reference
