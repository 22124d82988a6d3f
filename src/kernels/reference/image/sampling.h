// SPDX-License-Identifier: Apache-2.0
// Where the resize family reads its input.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

// `count` points of the interval [first, last], in the sampling_mode that coremltools documents for
// resize_bilinear; with a grid of n elements that interval is [0, n - 1]. Points never leave the
// interval. crop_resize has intervals that are no whole grid, or run backwards.
std::vector<double> grid_points(std::string_view sampling_mode, double first, double last,
                                std::int64_t count);

// One output element reads (1 - weight) * x[low] + weight * x[high] along an axis; weight 0 reads
// x[low] alone, so that NaN and infinity beside it do not matter.
struct Tap {
  std::int64_t low, high;
  double weight;
};

// Taps at points of [0, size - 1].
std::vector<Tap> linear_taps(const std::vector<double>& points, std::int64_t size);
// The element that is nearest to each point, the upper one of two.
std::vector<Tap> nearest_taps(const std::vector<double>& points, std::int64_t size);
// The element whose `size / count` wide cell holds the beginning of output cell i.
std::vector<Tap> floor_taps(std::int64_t size, std::int64_t count);

// x with the taps of each of its last axes applied (as many as `taps` has), to output 0, which is
// not empty. Integers are rounded to the nearest.
Status resize_axes(const KernelCall& call, const std::vector<std::vector<Tap>>& taps);

}  // namespace anemone::kernels::reference
