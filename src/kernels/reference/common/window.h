// SPDX-License-Identifier: Apache-2.0
// The window of conv, conv_transpose and pooling as their kernels walk it. The rules of the
// operations (ops/common/spatial.h) have checked its numbers.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace anemone::kernels {

inline constexpr int kMaxSpatial = 3;

// One spatial axis. The window at output position o covers in[o * stride - pad + k * dilation], k <
// kernel; for conv_transpose, input position i reaches out[i * stride - pad + k * dilation].
struct WindowAxis {
  std::int64_t in = 1, kernel = 1, out = 1, stride = 1, dilation = 1;
  std::int64_t pad = 0;        // before the first element
  std::int64_t pad_after = 0;  // after the last one
};

// The last axes; the missing ones of 1-D and 2-D come first and have size 1 everywhere.
using WindowAxes = std::array<WindowAxis, kMaxSpatial>;

// Reads strides, dilations, pad and pad_type of a call. `in`, `kernel` and `out` are the spatial
// sizes, one to three of them. "same" pads so that there are `out` windows; of an odd total the
// extra element comes after the input ("same_lower": before it). With `is_transposed`, pads are
// what is cropped from the output.
WindowAxes window_axes(const KernelCall& call, std::span<const std::int64_t> in,
                       std::span<const std::int64_t> kernel, std::span<const std::int64_t> out,
                       bool is_transposed = false);

}  // namespace anemone::kernels
