// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/image/image.h"
#include "kernels/reference/image/sampling.h"

namespace anemone::kernels::reference {

// Output i is the input whose cell holds the middle of output cell i, floor((i + 1/2) * in / out):
// coremltools writes the operation for that mode of TensorFlow (half_pixel_centers).
Status resize_nearest_neighbor_kernel(const KernelCall& call) {
  if (call.output().size() == 0) return ok_status();  // one of its axes may be huge
  const Shape& in = call.input("x").shape;
  const Shape& out = call.output().shape;
  std::vector<std::vector<Tap>> taps;
  for (std::size_t i = in.size() - 2; i < in.size(); ++i)
    taps.push_back(nearest_taps(
        grid_points("UNALIGN_CORNERS", 0, static_cast<double>(in[i] - 1), out[i]), in[i]));
  return resize_axes(call, taps);
}

}  // namespace anemone::kernels::reference
