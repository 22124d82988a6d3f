// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status abs_kernel(const KernelCall& call) {
  return unary_numeric(call, [](auto x) { return std::abs(x); });
}

}  // namespace anemone::kernels::reference
