// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/image/image.h"
#include "kernels/reference/image/sampling.h"

namespace anemone::kernels::reference {

// Output i is input floor(i * in / out), as in PyTorch.
Status upsample_nearest_neighbor_kernel(const KernelCall& call) {
  if (call.output().size() == 0) return ok_status();  // one of its axes may be huge
  const Shape& in = call.input("x").shape;
  const Shape& out = call.output().shape;
  const std::size_t rank = in.size();
  return resize_axes(
      call, {floor_taps(in[rank - 2], out[rank - 2]), floor_taps(in[rank - 1], out[rank - 1])});
}

}  // namespace anemone::kernels::reference
