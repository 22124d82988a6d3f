// SPDX-License-Identifier: Apache-2.0
// Blocks of the spatial axes of [n, c, h, w] become channels or the other way round.
#include "kernels/reference/shape/rearrange.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {
namespace {

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

// Input channel (k * f + i) * f + j is cell (i, j) of the blocks of channel k, as in PyTorch.
Status pixel_shuffle_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const std::int64_t f = call.integer("upscale_factor", 1);
  const std::int64_t width = x.shape[3];
  const std::int64_t plane = x.shape[2] * width;
  return rearrange(call, {x.shape[0], x.shape[1] / (f * f), x.shape[2], f, width, f},
                   {x.shape[1] * plane, f * f * plane, width, f * plane, 1, plane});
}

// Cell (i, j) of the blocks of channel k is output channel (k * f + i) * f + j, as in PyTorch.
Status pixel_unshuffle_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const std::int64_t f = call.integer("downscale_factor", 1);
  const std::int64_t width = x.shape[3];
  const std::int64_t plane = x.shape[2] * width;
  return rearrange(call, {x.shape[0], x.shape[1], f, f, x.shape[2] / f, width / f},
                   {x.shape[1] * plane, plane, width, 1, f * width, f});
}

// Cell (i, j) of the blocks of channel k is output channel (i * f + j) * c + k, as in TensorFlow.
Status space_to_depth_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const std::int64_t f = call.integer("block_size", 1);
  const std::int64_t width = x.shape[3];
  const std::int64_t plane = x.shape[2] * width;
  return rearrange(call, {x.shape[0], f, f, x.shape[1], x.shape[2] / f, width / f},
                   {x.shape[1] * plane, width, 1, plane, f * width, f});
}

}  // namespace

std::vector<KernelEntry> block_kernels() {
  return {{"depth_to_space", depth_to_space_kernel},
          {"pixel_shuffle", pixel_shuffle_kernel},
          {"pixel_unshuffle", pixel_unshuffle_kernel},
          {"space_to_depth", space_to_depth_kernel}};
}

}  // namespace anemone::kernels::reference
