// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "tensor/shape.h"

namespace anemone::kernels {

// A dense tensor as lines along one axis: element k of line (outer, inner) lies at
// (outer * length + k) * step + inner.
struct AxisLines {
  std::int64_t outer = 1;   // product of the dimensions before the axis
  std::int64_t length = 1;  // the axis
  std::int64_t step = 1;    // product of the dimensions after it: distance of neighbours in a line

  AxisLines(const Shape& shape, std::size_t axis) : length(shape[axis]) {
    for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
    for (std::size_t i = axis + 1; i < shape.size(); ++i) step *= shape[i];
  }
  std::int64_t count() const { return outer * step; }
  // First element of line `line` in a tensor like this one whose axis has `axis_length` elements.
  std::int64_t start(std::int64_t line, std::int64_t axis_length) const {
    return line / step * axis_length * step + line % step;
  }

  // Calls f(line) for every line, on all threads when there is enough to do.
  template <typename F>
  void parallel(ThreadPool& threads, F&& f) const {
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, length));
    threads.parallel_for(count(), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) f(line);
    });
  }
};

}  // namespace anemone::kernels
