// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/rearrange.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

// Input channel (k * f + i) * f + j is cell (i, j) of the blocks of channel k, as in PyTorch.
Status pixel_shuffle_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const std::int64_t f = call.integer("upscale_factor", 1);
  const std::int64_t width = x.shape[3];
  const std::int64_t plane = x.shape[2] * width;
  return rearrange(call, {x.shape[0], x.shape[1] / (f * f), x.shape[2], f, width, f},
                   {x.shape[1] * plane, f * f * plane, width, f * plane, 1, plane});
}

}  // namespace anemone::kernels::reference
