// SPDX-License-Identifier: Apache-2.0
// One fp32 value of each window of each channel.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/kernel.h"
#include "kernels/reference/common/elements.h"
#include "kernels/reference/common/window.h"
#include "kernels/reference/pool/pool.h"

namespace anemone::kernels::reference {
namespace {

// The part of a window along one axis that lies in x, and how many cells it has with the padding.
// What ceil_mode lets a window reach beyond the padding is no part of it.
struct WindowSpan {
  std::int64_t begin, end, padded;
};

inline WindowSpan window_span(const WindowAxis& axis, std::int64_t position) {
  const std::int64_t first = position * axis.stride - axis.pad;
  const std::int64_t last = std::min(first + axis.kernel, axis.in + axis.pad_after);
  return {std::clamp<std::int64_t>(first, 0, axis.in), std::clamp<std::int64_t>(last, 0, axis.in),
          std::max<std::int64_t>(0, last - first)};
}

// Window is a class with `add(float)` for the elements of x in a window, in order, and
// `result(inside, padded)`, which is told their number and the number of cells with the padding.
// `make()` gives one for each window.
template <typename Make>
Status pool(const KernelCall& call, Make&& make) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  if (y.size() == 0) return ok_status();
  const std::vector<std::int64_t> kernel = *call.ints("kernel_sizes");
  const WindowAxes axes =
      window_axes(call, std::span(x.shape).subspan(2), kernel, std::span(y.shape).subspan(2));
  const WindowAxis& depth = axes[0];
  const WindowAxis& height = axes[1];
  const WindowAxis& width = axes[2];
  const std::int64_t row_count = depth.out * height.out;
  return visit_floats(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* source = x.as<T>().data();
    T* target = y.as<T>().data();
    // A task is a row of the result of one channel.
    const std::int64_t grain = std::max<std::int64_t>(1, 2048 / width.out);
    call.threads().parallel_for(
        x.shape[0] * x.shape[1] * row_count, grain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t row = begin; row < end; ++row) {
            const T* plane = source + row / row_count * depth.in * height.in * width.in;
            const WindowSpan ds = window_span(depth, row % row_count / height.out);
            const WindowSpan hs = window_span(height, row % height.out);
            for (std::int64_t i = 0; i < width.out; ++i) {
              const WindowSpan ws = window_span(width, i);
              auto window = make();
              for (std::int64_t d = ds.begin; d < ds.end; ++d)
                for (std::int64_t h = hs.begin; h < hs.end; ++h)
                  for (std::int64_t w = ws.begin; w < ws.end; ++w)
                    window.add(load_element(plane[(d * height.in + h) * width.in + w]));
              const std::int64_t inside = std::max<std::int64_t>(0, ds.end - ds.begin) *
                                          std::max<std::int64_t>(0, hs.end - hs.begin) *
                                          std::max<std::int64_t>(0, ws.end - ws.begin);
              const double padded = static_cast<double>(ds.padded) *
                                    static_cast<double>(hs.padded) * static_cast<double>(ws.padded);
              target[row * width.out + i] = store_element<T>(window.result(inside, padded));
            }
          }
        });
  });
}

// The padding counts as zeros, or not at all; a window of nothing gives 0.
struct Average {
  bool is_inside_only;
  float sum = 0.0f;
  void add(float x) { sum += x; }
  float result(std::int64_t inside, double padded) const {
    const double count = is_inside_only ? static_cast<double>(inside) : padded;
    return count > 0 ? static_cast<float>(sum / count) : 0.0f;
  }
};

Status avg_pool_kernel(const KernelCall& call) {
  const bool excludes = call.boolean("exclude_padding_from_average", false);
  return pool(call, [excludes] { return Average{excludes}; });
}

// The root of the sum of squares.
struct Length {
  float squares = 0.0f;
  void add(float x) { squares += x * x; }
  float result(std::int64_t, double) const { return std::sqrt(squares); }
};

Status l2_pool_kernel(const KernelCall& call) {
  return pool(call, [] { return Length(); });
}

// Padding never wins, and NaN always does.
struct Maximum {
  float value = -std::numeric_limits<float>::infinity();
  void add(float x) {
    if (x > value || std::isnan(x)) value = x;
  }
  float result(std::int64_t, double) const { return value; }
};

Status max_pool_kernel(const KernelCall& call) {
  return pool(call, [] { return Maximum(); });
}

}  // namespace

std::vector<KernelEntry> pooling_kernels() {
  return {
      {"avg_pool", avg_pool_kernel}, {"l2_pool", l2_pool_kernel}, {"max_pool", max_pool_kernel}};
}

}  // namespace anemone::kernels::reference
