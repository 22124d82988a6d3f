// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/common/window.h"
#include "kernels/reference/linear/linear.h"

namespace anemone::kernels::reference {
namespace {

// The input positions [begin, end) whose kernel cell k lands inside the output.
struct Reach {
  std::int64_t begin, end;
  std::int64_t offset;  // output position of input position 0
};

Reach reach_of(const WindowAxis& axis, std::int64_t k) {
  const std::int64_t offset = k * axis.dilation - axis.pad;
  const std::int64_t begin = offset >= 0 ? 0 : (-offset + axis.stride - 1) / axis.stride;
  const std::int64_t room = axis.out - 1 - offset;
  const std::int64_t end = room < 0 ? 0 : std::min(axis.in, room / axis.stride + 1);
  return {begin, end, offset};
}

// Adds one input channel through one kernel to the sums of an output channel.
void scatter_channel(const WindowAxes& axes, const float* in, const float* kernel, float* out) {
  const WindowAxis& depth = axes[0];
  const WindowAxis& height = axes[1];
  const WindowAxis& width = axes[2];
  for (std::int64_t kd = 0; kd < depth.kernel; ++kd) {
    const Reach ds = reach_of(depth, kd);
    for (std::int64_t kh = 0; kh < height.kernel; ++kh) {
      const Reach hs = reach_of(height, kh);
      for (std::int64_t kw = 0; kw < width.kernel; ++kw) {
        const Reach ws = reach_of(width, kw);
        const float factor = kernel[(kd * height.kernel + kh) * width.kernel + kw];
        for (std::int64_t d = ds.begin; d < ds.end; ++d)
          for (std::int64_t h = hs.begin; h < hs.end; ++h) {
            const float* source = in + (d * height.in + h) * width.in;
            float* target = out + ((d * depth.stride + ds.offset) * height.out + h * height.stride +
                                   hs.offset) *
                                      width.out;
            for (std::int64_t w = ws.begin; w < ws.end; ++w)
              target[w * width.stride + ws.offset] += factor * source[w];
          }
      }
    }
  }
}

}  // namespace

// Each output channel is one task, which adds input channels and kernel cells in one fixed order.
Status conv_transpose_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const TensorView weight = call.input("weight");
  const MutableTensorView y = call.output();
  if (y.size() == 0) return ok_status();
  const WindowAxes axes =
      window_axes(call, std::span(x.shape).subspan(2), std::span(weight.shape).subspan(2),
                  std::span(y.shape).subspan(2), true);
  std::int64_t in_positions = 1, kernel_size = 1, positions = 1;
  for (const WindowAxis& axis : axes) {
    in_positions *= axis.in;
    kernel_size *= axis.kernel;
    positions *= axis.out;
  }
  const std::int64_t group_inputs = x.shape[1] / call.integer("groups", 1);
  const std::int64_t group_outputs = weight.shape[1];
  const std::int64_t out_channels = y.shape[1];
  const std::vector<float> in = to_floats(x);
  const std::vector<float> weights = to_floats(weight);
  const std::vector<float> bias =
      call.has("bias") ? to_floats(call.input("bias")) : std::vector<float>();
  return visit_floats(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* target = y.as<T>().data();
    call.threads().parallel_for(
        x.shape[0] * out_channels, 1, [&](std::int64_t begin, std::int64_t end) {
          std::vector<float> sums(static_cast<std::size_t>(positions));
          for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t channel = task % out_channels;
            const std::int64_t first = channel / group_outputs * group_inputs;
            std::fill(sums.begin(), sums.end(), 0.0f);
            for (std::int64_t c = first; c < first + group_inputs; ++c)
              scatter_channel(
                  axes, in.data() + (task / out_channels * x.shape[1] + c) * in_positions,
                  weights.data() + (c * group_outputs + channel % group_outputs) * kernel_size,
                  sums.data());
            const float shift = bias.empty() ? 0.0f : bias[static_cast<std::size_t>(channel)];
            for (std::int64_t i = 0; i < positions; ++i)
              target[task * positions + i] =
                  store_element<T>(sums[static_cast<std::size_t>(i)] + shift);
          }
        });
  });
}

}  // namespace anemone::kernels::reference
