// SPDX-License-Identifier: Apache-2.0
// The order of elements in topk, argsort and the arg reductions. NaN is the largest element, so
// that the order is strict for all inputs.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/reference/common/axis_lines.h"
#include "kernels/reference/common/elements.h"

namespace anemone::kernels::reference {

inline bool comes_before(float a, float b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}
inline bool comes_before(std::int64_t a, std::int64_t b) {
  return a < b;
}

// Positions in `line` by value; equal elements by position.
template <typename C>
struct PositionOrder {
  const std::vector<C>& line;
  bool ascending;
  bool operator()(std::int64_t a, std::int64_t b) const {
    const C x = line[static_cast<std::size_t>(a)];
    const C y = line[static_cast<std::size_t>(b)];
    if (comes_before(x, y)) return ascending;
    if (comes_before(y, x)) return !ascending;
    return a < b;
  }
};

template <typename T>
std::vector<Computed<T>> read_line(const T* data, const AxisLines& lines, std::int64_t line) {
  std::vector<Computed<T>> out(static_cast<std::size_t>(lines.length));
  const T* source = data + lines.start(line, lines.length);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = load_element(source[static_cast<std::int64_t>(i) * lines.step]);
  return out;
}

}  // namespace anemone::kernels::reference
