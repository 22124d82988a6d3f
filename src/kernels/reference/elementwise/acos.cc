// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status acos_kernel(const KernelCall& call) {
  return unary_float(call, [](float x) { return std::acos(x); });
}

}  // namespace anemone::kernels::reference
