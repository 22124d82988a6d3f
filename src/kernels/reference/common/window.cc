// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/window.h"

#include <algorithm>

namespace anemone::kernels {

WindowAxes window_axes(const KernelCall& call, std::span<const std::int64_t> in,
                       std::span<const std::int64_t> kernel, std::span<const std::int64_t> out,
                       bool is_transposed) {
  const std::size_t spatial = in.size();
  const auto strides = call.ints("strides");
  const auto dilations = call.ints("dilations");
  const auto pad = call.ints("pad");
  const std::string_view pad_type = call.text("pad_type", "valid");
  WindowAxes axes;
  for (std::size_t i = 0; i < spatial; ++i) {
    WindowAxis& axis = axes[kMaxSpatial - spatial + i];
    axis.in = in[i];
    axis.kernel = kernel[i];
    axis.out = out[i];
    if (strides) axis.stride = (*strides)[i];
    if (dilations) axis.dilation = (*dilations)[i];
    if (pad_type == "custom" && pad) {
      axis.pad = (*pad)[2 * i];
      axis.pad_after = (*pad)[2 * i + 1];
    }
    if (pad_type == "same" || pad_type == "same_lower") {
      const std::int64_t windows = is_transposed ? axis.in : axis.out;
      const std::int64_t covered = is_transposed ? axis.out : axis.in;
      const std::int64_t total = std::max<std::int64_t>(
          0, (windows - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 - covered);
      axis.pad = pad_type == "same" ? total / 2 : total - total / 2;
      axis.pad_after = total - axis.pad;
    }
  }
  return axes;
}

}  // namespace anemone::kernels
