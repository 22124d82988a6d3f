// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/reference/elementwise/channels.h"
#include "kernels/reference/elementwise/elementwise.h"

namespace anemone::kernels::reference {

// alpha * log(1 + exp(z)) with z = beta * x, written so that the exponential does not overflow.
Status softplus_parametric_kernel(const KernelCall& call) {
  const std::vector<float> alpha = to_floats(call.input("alpha"));
  const std::vector<float> beta = to_floats(call.input("beta"));
  return map_channels(call, [&](float x, std::size_t c) {
    const float z = beta[c] * x;
    return alpha[c] * ((z < 0.0f ? 0.0f : z) + std::log1p(std::exp(-std::abs(z))));
  });
}

}  // namespace anemone::kernels::reference
