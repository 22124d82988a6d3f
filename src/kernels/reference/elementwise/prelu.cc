// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/channels.h"
#include "kernels/reference/elementwise/elementwise.h"

namespace anemone::kernels::reference {

Status prelu_kernel(const KernelCall& call) {
  const std::vector<float> alpha = to_floats(call.input("alpha"));
  return map_channels(call, [&](float x, std::size_t c) { return x < 0.0f ? alpha[c] * x : x; });
}

}  // namespace anemone::kernels::reference
