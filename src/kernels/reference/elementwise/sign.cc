// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

// Zero keeps its sign and NaN stays NaN.
Status sign_kernel(const KernelCall& call) {
  return unary_numeric(call, [](auto x) {
    using T = decltype(x);
    return x > 0 ? T{1} : x < 0 ? T{-1} : x;
  });
}

}  // namespace anemone::kernels::reference
