// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <vector>

#include "kernels/reference/common/window.h"
#include "kernels/reference/linear/gemm.h"
#include "kernels/reference/linear/linear.h"
#include "tensor/half.h"

namespace anemone::kernels::reference {
namespace {

// Positions are unfolded in blocks of at most this many floats.
constexpr std::int64_t kMaxPatchFloats = 4 * 1024 * 1024;

struct Geometry {
  std::int64_t batch, channels, groups, out_channels;
  WindowAxes axes;
  std::int64_t positions = 1;  // output positions of one image
  std::int64_t in_positions = 1;
  std::int64_t kernel_size = 1;
  std::int64_t group_channels = 0;
  std::int64_t depth = 0;  // contraction: channels of a group x kernel
};

Geometry geometry_of(const KernelCall& call) {
  const TensorView x = call.input("x");
  const TensorView weight = call.input("weight");
  const MutableTensorView out = call.output();
  Geometry g;
  g.batch = x.shape[0];
  g.channels = x.shape[1];
  g.groups = call.integer("groups", 1);
  g.out_channels = weight.shape[0];
  g.axes = window_axes(call, std::span(x.shape).subspan(2), std::span(weight.shape).subspan(2),
                       std::span(out.shape).subspan(2));
  for (const WindowAxis& axis : g.axes) {
    g.positions *= axis.out;
    g.in_positions *= axis.in;
    g.kernel_size *= axis.kernel;
  }
  g.group_channels = g.channels / g.groups;
  g.depth = g.group_channels * g.kernel_size;
  return g;
}

// A 1x1 convolution without strides or padding reads each input element once: its patches are the
// transposed input.
bool is_pointwise(const Geometry& g) {
  return std::all_of(std::begin(g.axes), std::end(g.axes), [](const WindowAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad == 0 && a.in == a.out;
  });
}

// Calls body(kernel index, input offset or -1 in the padding) for each kernel cell of one output
// position.
template <typename Body>
void for_each_tap(const Geometry& g, std::int64_t position, const Body& body) {
  const auto& [d, h, w] = g.axes;
  const std::int64_t ow = position % w.out;
  const std::int64_t oh = position / w.out % h.out;
  const std::int64_t od = position / w.out / h.out;
  std::int64_t k = 0;
  for (std::int64_t kd = 0; kd < d.kernel; ++kd) {
    const std::int64_t id = od * d.stride + kd * d.dilation - d.pad;
    for (std::int64_t kh = 0; kh < h.kernel; ++kh) {
      const std::int64_t ih = oh * h.stride + kh * h.dilation - h.pad;
      for (std::int64_t kw = 0; kw < w.kernel; ++kw, ++k) {
        const std::int64_t iw = ow * w.stride + kw * w.dilation - w.pad;
        const bool inside = id >= 0 && id < d.in && ih >= 0 && ih < h.in && iw >= 0 && iw < w.in;
        body(k, inside ? (id * h.in + ih) * w.in + iw : -1);
      }
    }
  }
}

// Patches of positions [begin, end) as [groups, end - begin, depth]. `image` is [channels, in
// positions].
void unfold(const Geometry& g, const float* image, std::int64_t begin, std::int64_t end, float* out,
            ThreadPool& threads) {
  const std::int64_t count = end - begin;
  const std::int64_t grain = 16 * 1024 / std::max<std::int64_t>(1, g.channels * g.kernel_size);
  threads.parallel_for(count, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t p = first; p < last; ++p) {
      for_each_tap(g, begin + p, [&](std::int64_t k, std::int64_t offset) {
        for (std::int64_t c = 0; c < g.channels; ++c) {
          const std::int64_t group = c / g.group_channels;
          const std::int64_t row = (group * count + p) * g.depth;
          out[row + c % g.group_channels * g.kernel_size + k] =
              offset < 0 ? 0.0f : image[c * g.in_positions + offset];
        }
      });
    }
  });
}

}  // namespace

Status conv_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const TensorView weight = call.input("weight");
  const MutableTensorView out = call.output();
  if (out.size() == 0) return {};
  const Geometry g = geometry_of(call);
  const std::vector<float> bias =
      call.has("bias") ? to_floats(call.input("bias")) : std::vector<float>();
  const std::int64_t group_rows = g.out_channels / g.groups;
  const std::int64_t x_bytes = dtype_bits(x.dtype) / 8;
  const std::int64_t weight_bytes = dtype_bits(weight.dtype) / 8;
  const std::int64_t out_bytes = dtype_bits(out.dtype) / 8;
  const bool pointwise = is_pointwise(g);
  const std::int64_t patch = std::max<std::int64_t>(1, g.groups * g.depth);
  const std::int64_t block =
      pointwise ? g.positions : std::clamp<std::int64_t>(kMaxPatchFloats / patch, 1, g.positions);

  for (std::int64_t n = 0; n < g.batch; ++n) {
    const MatrixView image{x.dtype,        x.data + n * g.channels * g.in_positions * x_bytes,
                           g.channels,     g.in_positions,
                           g.in_positions, 1};
    // [groups][positions, depth] for 1x1; otherwise the whole image once as fp32, unfolded below.
    std::vector<MatrixView> sources;
    for (std::int64_t i = 0; i < (pointwise ? g.groups : 1); ++i)
      sources.push_back(pointwise
                            ? MatrixView{x.dtype, image.data + i * g.depth * g.positions * x_bytes,
                                         g.positions, g.depth, 1, g.positions}
                            : image);
    const PackedMatrices packed(sources, call.threads());
    std::vector<float> patches(pointwise ? 0 : static_cast<std::size_t>(block * patch));
    for (std::int64_t begin = 0; begin < g.positions; begin += block) {
      const std::int64_t end = std::min(g.positions, begin + block);
      if (!pointwise) unfold(g, packed[0], begin, end, patches.data(), call.threads());
      std::vector<MatrixProduct> products;
      for (std::int64_t i = 0; i < g.groups; ++i) {
        MatrixProduct p;
        p.left = pointwise ? packed[static_cast<std::size_t>(i)]
                           : patches.data() + i * (end - begin) * g.depth;
        p.left_rows = end - begin;
        p.right = {weight.dtype, weight.data + i * group_rows * g.depth * weight_bytes,
                   group_rows,   g.depth,
                   g.depth,      1};
        p.bias = bias.empty() ? nullptr : bias.data() + i * group_rows;
        p.out =
            out.data + ((n * g.out_channels + i * group_rows) * g.positions + begin) * out_bytes;
        p.out_left_stride = 1;
        p.out_right_stride = g.positions;
        products.push_back(p);
      }
      multiply(products, out.dtype, call.threads());
    }
  }
  return {};
}

}  // namespace anemone::kernels::reference
