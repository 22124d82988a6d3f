// SPDX-License-Identifier: Apache-2.0
// Sliding windows over the spatial axes of conv and pooling.
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

// Parameters of a window, read from an operation: one entry a spatial axis, `pad` two (before,
// after).
struct Window {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pad;
  bool is_same = false;  // pad_type same or same_lower: as many outputs as strides fit
};

// Reads strides, dilations, pad and pad_type, with their defaults, for `kernel.size()` axes.
// nullopt when one of them is not known yet. Errors carry the constraint `<op>_c5` (strides,
// dilations), `<op>_c6` (pad_type) or `<op>_c7` (pad).
Result<std::optional<Window>> read_window(const ir::InferContext& context, std::string_view op,
                                          std::vector<std::int64_t> kernel);

// Number of windows along axis i of an input of size `in`; kDynamic when `in` or the kernel is.
// 0 when the window does not fit, and for an empty input with "same" padding.
std::int64_t window_count(const Window& window, std::size_t i, std::int64_t in);

// The default of strides, dilations and pad: a vector of `count` equal numbers a spatial axis of x.
std::function<ir::Literal(const ir::InferContext&)> per_spatial_axis(std::int32_t value,
                                                                     std::size_t count);

}  // namespace anemone::ops
