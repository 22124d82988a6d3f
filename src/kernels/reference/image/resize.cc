// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/image/image.h"
#include "kernels/reference/image/sampling.h"

namespace anemone::kernels::reference {

// With NEAREST_NEIGHBOR, the sampling mode DEFAULT is that of resize_nearest_neighbor, which
// coremltools replaces by this operation; the others round the grid points of the linear modes.
Status resize_kernel(const KernelCall& call) {
  if (call.output().size() == 0) return ok_status();  // one of its axes may be huge
  const Shape& in = call.input("x").shape;
  const Shape& out = call.output().shape;
  const bool is_nearest = call.text("interpolation_mode", "LINEAR") == "NEAREST_NEIGHBOR";
  std::string_view mode = call.text("sampling_mode", "DEFAULT");
  if (is_nearest && mode == "DEFAULT") mode = "UNALIGN_CORNERS";
  const auto count = static_cast<std::size_t>(call.integer("resized_dims", 0));
  std::vector<std::vector<Tap>> taps;
  for (std::size_t i = in.size() - count; i < in.size(); ++i) {
    const auto points = grid_points(mode, 0, static_cast<double>(in[i] - 1), out[i]);
    taps.push_back(is_nearest ? nearest_taps(points, in[i]) : linear_taps(points, in[i]));
  }
  return resize_axes(call, taps);
}

}  // namespace anemone::kernels::reference
