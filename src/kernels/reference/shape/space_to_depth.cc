// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/rearrange.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

// Cell (i, j) of the blocks of channel k is output channel (i * f + j) * c + k, as in TensorFlow.
Status space_to_depth_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const std::int64_t f = call.integer("block_size", 1);
  const std::int64_t width = x.shape[3];
  const std::int64_t plane = x.shape[2] * width;
  return rearrange(call, {x.shape[0], f, f, x.shape[1], x.shape[2] / f, width / f},
                   {x.shape[1] * plane, width, 1, plane, f * width, f});
}

}  // namespace anemone::kernels::reference
