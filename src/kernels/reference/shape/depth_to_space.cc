// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/rearrange.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

// Input channel (i * f + j) * c + k is cell (i, j) of the blocks of channel k, as in TensorFlow.
Status depth_to_space_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const std::int64_t f = call.integer("block_size", 1);
  const std::int64_t width = x.shape[3];
  const std::int64_t plane = x.shape[2] * width;
  const std::int64_t c = x.shape[1] / (f * f);
  return rearrange(call, {x.shape[0], c, x.shape[2], f, width, f},
                   {x.shape[1] * plane, plane, width, f * c * plane, 1, c * plane});
}

}  // namespace anemone::kernels::reference
