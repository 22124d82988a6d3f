// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

// max(x, alpha). An int32 alpha is exact in a double.
Status threshold_kernel(const KernelCall& call) {
  const double alpha = call.number("alpha", 0);
  return unary_numeric(call, [alpha](auto x) {
    const auto limit = static_cast<decltype(x)>(alpha);
    return x < limit ? limit : x;
  });
}

}  // namespace anemone::kernels::reference
