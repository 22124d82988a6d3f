// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status rsqrt_kernel(const KernelCall& call) {
  const auto epsilon = static_cast<float>(call.number("epsilon", 1e-12));
  return unary_float(call, [epsilon](float x) { return 1.0f / std::sqrt(x + epsilon); });
}

}  // namespace anemone::kernels::reference
