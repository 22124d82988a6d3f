// SPDX-License-Identifier: Apache-2.0
// Images of another size.
#include "kernels/reference/image/image.h"
#include "kernels/reference/image/sampling.h"

namespace anemone::kernels::reference {
namespace {

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

Status upsample_bilinear_kernel(const KernelCall& call) {
  if (call.output().size() == 0) return ok_status();  // one of its axes may be huge
  const Shape& in = call.input("x").shape;
  const Shape& out = call.output().shape;
  const bool aligns = call.boolean("align_corners", true);
  const std::string_view mode = aligns ? "STRICT_ALIGN_CORNERS"
                                : call.boolean("half_pixel_centers", !aligns) ? "UNALIGN_CORNERS"
                                                                              : "DEFAULT";
  std::vector<std::vector<Tap>> taps;
  for (std::size_t i = in.size() - 2; i < in.size(); ++i)
    taps.push_back(
        linear_taps(grid_points(mode, 0, static_cast<double>(in[i] - 1), out[i]), in[i]));
  return resize_axes(call, taps);
}

// Output i is input floor(i * in / out), as in PyTorch.
Status upsample_nearest_neighbor_kernel(const KernelCall& call) {
  if (call.output().size() == 0) return ok_status();  // one of its axes may be huge
  const Shape& in = call.input("x").shape;
  const Shape& out = call.output().shape;
  const std::size_t rank = in.size();
  return resize_axes(
      call, {floor_taps(in[rank - 2], out[rank - 2]), floor_taps(in[rank - 1], out[rank - 1])});
}

}  // namespace

std::vector<KernelEntry> resizing_kernels() {
  return {{"resize", resize_kernel},
          {"resize_bilinear", resize_bilinear_kernel},
          {"resize_nearest_neighbor", resize_nearest_neighbor_kernel},
          {"upsample_bilinear", upsample_bilinear_kernel},
          {"upsample_nearest_neighbor", upsample_nearest_neighbor_kernel}};
}

}  // namespace anemone::kernels::reference
