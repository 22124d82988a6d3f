// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/image/pixels.h"

#include <algorithm>
#include <cmath>

namespace anemone::kernels::reference {
namespace {

// `position` reflected at `low` and `high` until it lies between them.
double reflect(double position, double low, double high) {
  const double span = high - low;
  if (span <= 0) return low;
  const double away = std::fmod(std::abs(position - low), 2 * span);
  return low + (away > span ? 2 * span - away : away);
}

double move_inside(Padding padding, double position, std::int64_t size) {
  const double last = static_cast<double>(size - 1);
  if (padding == Padding::kBorder && std::isinf(position)) return position < 0 ? 0 : last;
  if (!std::isfinite(position)) return 0;
  if (padding == Padding::kReflection) position = reflect(position, 0, last);
  if (padding == Padding::kSymmetric) position = reflect(position, -0.5, last + 0.5);
  return std::clamp(position, 0.0, last);
}

}  // namespace

Padding parse_padding(std::string_view text) {
  return text == "border"       ? Padding::kBorder
         : text == "reflection" ? Padding::kReflection
         : text == "symmetric"  ? Padding::kSymmetric
                                : Padding::kConstant;
}

Coordinates parse_coordinates(std::string_view text) {
  return text == "unnormalized"             ? Coordinates::kPixels
         : text == "normalized_zero_to_one" ? Coordinates::kZeroToOne
                                            : Coordinates::kMinusOneToOne;
}

double to_pixels(Coordinates mode, bool align_corners, double coordinate, std::int64_t size) {
  if (mode == Coordinates::kPixels) return coordinate;
  const double share = mode == Coordinates::kZeroToOne ? coordinate : (coordinate + 1) / 2;
  const auto n = static_cast<double>(size);
  return align_corners ? share * (n - 1) : share * n - 0.5;
}

double PixelSampler::operator()(const Plane& plane, double y, double x) const {
  if (padding != Padding::kConstant) {
    y = move_inside(padding, y, plane.height);
    x = move_inside(padding, x, plane.width);
  }
  // No pixel is near beyond this range. The test is false for NaN, too.
  if (!(y > -1 && y < static_cast<double>(plane.height) && x > -1 &&
        x < static_cast<double>(plane.width)))
    return padding_value;
  const auto pixel = [&](std::int64_t row, std::int64_t column) {
    const bool is_inside = row >= 0 && row < plane.height && column >= 0 && column < plane.width;
    return is_inside ? static_cast<double>(plane.data[row * plane.width + column]) : padding_value;
  };
  if (is_nearest)
    return pixel(static_cast<std::int64_t>(std::nearbyint(y)),
                 static_cast<std::int64_t>(std::nearbyint(x)));
  const auto row = static_cast<std::int64_t>(std::floor(y));
  const auto column = static_cast<std::int64_t>(std::floor(x));
  const double down = y - static_cast<double>(row);
  const double right = x - static_cast<double>(column);
  double sum = 0;
  // A pixel of weight 0 is not read: it may be infinite.
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 2; ++j) {
      const double weight = (i == 0 ? 1 - down : down) * (j == 0 ? 1 - right : right);
      if (weight != 0) sum += weight * pixel(row + i, column + j);
    }
  return sum;
}

}  // namespace anemone::kernels::reference
