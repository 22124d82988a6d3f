// SPDX-License-Identifier: Apache-2.0
// Python slices, x[begin:end:stride], as the slicing operations of MIL use them. Type rules and
// kernels resolve them with the same code.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensor/shape.h"

namespace anemone {

// What is written for each axis. Either as long as the rank, or empty: strides of 1 and masks of
// false.
struct SliceRequest {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t>
      begin_mask;  // not 0: from the first element in the direction of the stride
  std::vector<std::int64_t> end_mask;      // not 0: to the last one
  std::vector<std::int64_t> squeeze_mask;  // not 0: the one element at begin, the axis is dropped
};

// One axis resolved: `count` elements start, start + step, ... that all lie inside of the axis.
struct AxisSlice {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
  bool is_squeezed = false;
};

// Resolves all axes of a static shape. begin and end have one entry per axis (masked ones are
// ignored). kInvalidArgument for a vector of another length, a stride of 0, or a squeezed axis
// without its element.
Result<std::vector<AxisSlice>> resolve_slice(const Shape& shape, const SliceRequest& request);

// The slice's shape without the squeezed axes.
Shape shape_of(std::span<const AxisSlice> slice);

}  // namespace anemone
