// SPDX-License-Identifier: Apache-2.0
// depth_to_space, space_to_depth, pixel_shuffle and pixel_unshuffle: blocks of the spatial axes of
// [n, c, h, w] become channels or the other way round. Errors carry `<op>_c1` (rank), `<op>_c2`
// (the factor) and `<op>_c3` (what the factor must divide).
#pragma once

#include <string_view>

#include "ir/op_schema.h"

namespace anemone::ops {

// [n, c, h, w] -> [n, c / f^2, h * f, w * f].
ir::OpSchema channels_to_blocks_schema(std::string_view name, std::string_view factor);
// [n, c, h, w] -> [n, c * f^2, h / f, w / f].
ir::OpSchema blocks_to_channels_schema(std::string_view name, std::string_view factor);

}  // namespace anemone::ops
