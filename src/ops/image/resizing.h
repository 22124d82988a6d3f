// SPDX-License-Identifier: Apache-2.0
// Pieces of the rules of the resize family.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

// The sampling_mode of resize_bilinear, resize and crop_resize: a known one of the five.
Status check_sampling_mode(const ir::InferContext& context, std::string_view constraint);

// x of rank 3 or more with its last two axes resized to height and width (kDynamic: not known).
// Refuses to make something of nothing.
Status add_resized(const ir::InferContext& context, std::int64_t height, std::int64_t width,
                   std::string_view constraint, std::vector<ir::Type>& outputs);

// Adds the type of x with height and width multiplied by the parameters scale_factor_height and
// scale_factor_width and rounded down.
Status add_upsampled(const ir::InferContext& context, std::string_view constraint,
                     std::vector<ir::Type>& outputs);

// scale_factor_height and scale_factor_width, 1 by default.
std::vector<ir::Parameter> scale_parameters();

}  // namespace anemone::ops
