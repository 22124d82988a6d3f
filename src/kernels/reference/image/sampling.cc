// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/image/sampling.h"

#include <algorithm>
#include <cmath>

#include "kernels/reference/common/elements.h"

namespace anemone::kernels::reference {
namespace {

// Axis `axis` of a dense array resized by taps.
std::vector<double> resize_axis(const std::vector<double>& in, Shape& shape, std::size_t axis,
                                const std::vector<Tap>& taps, ThreadPool& threads) {
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  const std::int64_t size = shape[axis];
  const auto count = static_cast<std::int64_t>(taps.size());
  std::vector<double> out(static_cast<std::size_t>(outer * count * inner));
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, inner));
  threads.parallel_for(outer * count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const Tap& tap = taps[static_cast<std::size_t>(row % count)];
      const double* low = in.data() + (row / count * size + tap.low) * inner;
      const double* high = in.data() + (row / count * size + tap.high) * inner;
      double* target = out.data() + row * inner;
      if (tap.weight == 0) {
        std::copy_n(low, inner, target);
        continue;
      }
      for (std::int64_t i = 0; i < inner; ++i)
        target[i] = (1 - tap.weight) * low[i] + tap.weight * high[i];
    }
  });
  shape[axis] = count;
  return out;
}

template <typename T>
T store_double(double value) {
  if constexpr (std::is_same_v<T, std::int32_t>)
    return saturate_to_integer<T>(std::nearbyint(value));
  else
    return store_element<T>(static_cast<float>(value));
}

}  // namespace

std::vector<double> grid_points(std::string_view sampling_mode, double first, double last,
                                std::int64_t count) {
  // Point i is at start + (i + half) * length / cells; multiplied first, so that points which are
  // elements or lie half between two of them are so exactly.
  double cells = static_cast<double>(count);
  double length = last - first + 1;  // DEFAULT
  double half = 0;
  double start = first;
  if (sampling_mode == "STRICT_ALIGN_CORNERS" || sampling_mode == "ALIGN_CORNERS") {
    length = last - first;
    if (count == 1 && sampling_mode == "ALIGN_CORNERS") start = (first + last) / 2;
    cells = std::max(cells - 1, 1.0);
  } else if (sampling_mode == "OFFSET_CORNERS") {
    length = std::max(1.0, last - first);
    half = 0.5;
  } else if (sampling_mode == "UNALIGN_CORNERS") {
    half = 0.5;
    start = first - 0.5;
  }
  std::vector<double> points(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = std::clamp(start + (static_cast<double>(i) + half) * length / cells,
                           std::min(first, last), std::max(first, last));
  return points;
}

std::vector<Tap> linear_taps(const std::vector<double>& points, std::int64_t size) {
  std::vector<Tap> taps;
  for (const double point : points) {
    const auto low = static_cast<std::int64_t>(std::floor(point));
    taps.push_back({low, std::min(low + 1, size - 1), point - static_cast<double>(low)});
  }
  return taps;
}

std::vector<Tap> nearest_taps(const std::vector<double>& points, std::int64_t size) {
  std::vector<Tap> taps;
  for (const double point : points) {
    const auto index = std::min(static_cast<std::int64_t>(std::floor(point + 0.5)), size - 1);
    taps.push_back({index, index, 0});
  }
  return taps;
}

std::vector<Tap> floor_taps(std::int64_t size, std::int64_t count) {
  std::vector<Tap> taps;
  for (std::int64_t i = 0; i < count; ++i) {
    const double place = static_cast<double>(i) * static_cast<double>(size);
    const auto index =
        std::min(static_cast<std::int64_t>(place / static_cast<double>(count)), size - 1);
    taps.push_back({index, index, 0});
  }
  return taps;
}

Status resize_axes(const KernelCall& call, const std::vector<std::vector<Tap>>& taps) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  return visit_numeric(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto source = x.as<T>();
    std::vector<double> values(source.size());
    std::transform(source.begin(), source.end(), values.begin(),
                   [](T value) { return static_cast<double>(load_element(value)); });
    Shape shape = x.shape;
    for (std::size_t i = 0; i < taps.size(); ++i)
      values = resize_axis(values, shape, shape.size() - taps.size() + i, taps[i], call.threads());
    std::transform(values.begin(), values.end(), y.as<T>().begin(), store_double<T>);
  });
}

}  // namespace anemone::kernels::reference
