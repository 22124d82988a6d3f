// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/rearrange.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

// Cell (i, j) of the blocks of channel k is output channel (k * f + i) * f + j, as in PyTorch.
Status pixel_unshuffle_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const std::int64_t f = call.integer("downscale_factor", 1);
  const std::int64_t width = x.shape[3];
  const std::int64_t plane = x.shape[2] * width;
  return rearrange(call, {x.shape[0], x.shape[1], f, f, x.shape[2] / f, width / f},
                   {x.shape[1] * plane, plane, width, 1, f * width, f});
}

}  // namespace anemone::kernels::reference
