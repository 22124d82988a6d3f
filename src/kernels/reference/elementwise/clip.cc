// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

// Written so that NaN stays NaN.
Status clip_kernel(const KernelCall& call) {
  const auto low = static_cast<float>(call.number("alpha", 0));
  const auto high = static_cast<float>(call.number("beta", 0));
  return unary_float(call, [low, high](float x) { return x < low ? low : x > high ? high : x; });
}

}  // namespace anemone::kernels::reference
