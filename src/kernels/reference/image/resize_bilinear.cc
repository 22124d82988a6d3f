// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/image/image.h"
#include "kernels/reference/image/sampling.h"

namespace anemone::kernels::reference {

Status resize_bilinear_kernel(const KernelCall& call) {
  if (call.output().size() == 0) return ok_status();  // one of its axes may be huge
  const Shape& in = call.input("x").shape;
  const Shape& out = call.output().shape;
  const std::string_view mode = call.text("sampling_mode", "DEFAULT");
  std::vector<std::vector<Tap>> taps;
  for (std::size_t i = in.size() - 2; i < in.size(); ++i)
    taps.push_back(
        linear_taps(grid_points(mode, 0, static_cast<double>(in[i] - 1), out[i]), in[i]));
  return resize_axes(call, taps);
}

}  // namespace anemone::kernels::reference
