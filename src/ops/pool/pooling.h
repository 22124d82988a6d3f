// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "ir/op_schema.h"

namespace anemone::ops {

// The three poolings differ by name and number of spatial axes alone. Errors carry `<op>_c1` (x),
// `<op>_c2` (kernel_sizes), `<op>_c4` (ceil_mode), `<op>_c5` to `<op>_c7` (window, see spatial.h)
// and `<op>_c8` (size of the result).
ir::OpSchema pooling_schema(std::string_view name, std::size_t max_spatial);

}  // namespace anemone::ops
