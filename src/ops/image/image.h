// SPDX-License-Identifier: Apache-2.0
// Schemas of the category image: sampling of pictures [..., height, width], and boxes in them.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema affine_schema();
ir::OpSchema crop_resize_schema();
ir::OpSchema non_maximum_suppression_schema();
ir::OpSchema resample_schema();
ir::OpSchema resize_schema();
ir::OpSchema resize_bilinear_schema();
ir::OpSchema resize_nearest_neighbor_schema();
ir::OpSchema upsample_bilinear_schema();
ir::OpSchema upsample_nearest_neighbor_schema();

}  // namespace anemone::ops
