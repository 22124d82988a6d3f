// SPDX-License-Identifier: Apache-2.0
// Values between the pixels of a picture, for resample, affine and crop_resize.
#pragma once

#include <cstdint>
#include <string_view>

namespace anemone::kernels::reference {

// One channel of a picture as fp32, row-major.
struct Plane {
  const float* data;
  std::int64_t height, width;
};

enum class Padding { kConstant, kBorder, kReflection, kSymmetric };
Padding parse_padding(std::string_view text);

// How a coordinate becomes a position in pixels: unnormalized ones are positions; of the others, -1
// (or 0) and 1 are the middles of the first and last pixel with align_corners, their outer edges
// without.
enum class Coordinates { kPixels, kMinusOneToOne, kZeroToOne };
Coordinates parse_coordinates(std::string_view text);
double to_pixels(Coordinates mode, bool align_corners, double coordinate, std::int64_t size);

// The value at (y, x) in pixels. Outside, kConstant has `padding_value` in every pixel; the others
// first move the position inside: to the border, or reflected at the middles (kReflection) or the
// outer edges (kSymmetric) of the border pixels. A position that is no finite number is outside.
struct PixelSampler {
  Padding padding = Padding::kConstant;
  double padding_value = 0;
  bool is_nearest = false;

  double operator()(const Plane& plane, double y, double x) const;
};

}  // namespace anemone::kernels::reference
