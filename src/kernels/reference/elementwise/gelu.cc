// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status gelu_kernel(const KernelCall& call) {
  const std::string_view mode = call.text("mode", "EXACT");
  if (mode == "TANH_APPROXIMATION") {
    constexpr float kScale = 0.7978845608f;  // sqrt(2 / pi)
    return unary_float(call, [](float x) {
      return 0.5f * x * (1.0f + std::tanh(kScale * (x + 0.044715f * x * x * x)));
    });
  }
  if (mode == "SIGMOID_APPROXIMATION")
    return unary_float(call, [](float x) { return x / (1.0f + std::exp(-1.702f * x)); });
  constexpr float kInverseRoot2 = 0.7071067812f;
  // x/2 * (1 + erf(x / sqrt(2))); erfc keeps the digits that 1 + erf loses for negative x.
  return unary_float(call, [](float x) { return 0.5f * x * std::erfc(-x * kInverseRoot2); });
}

}  // namespace anemone::kernels::reference
