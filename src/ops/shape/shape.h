// SPDX-License-Identifier: Apache-2.0
// The shape operations, one file each.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema band_part_schema();
ir::OpSchema batch_to_space_schema();
ir::OpSchema concat_schema();
ir::OpSchema crop_schema();
ir::OpSchema depth_to_space_schema();
ir::OpSchema expand_dims_schema();
ir::OpSchema fill_schema();
ir::OpSchema fill_like_schema();
ir::OpSchema flatten2d_schema();
ir::OpSchema pad_schema();
ir::OpSchema pixel_shuffle_schema();
ir::OpSchema pixel_unshuffle_schema();
ir::OpSchema range_1d_schema();
ir::OpSchema reshape_schema();
ir::OpSchema reshape_like_schema();
ir::OpSchema reverse_schema();
ir::OpSchema reverse_sequence_schema();
ir::OpSchema shape_schema();
ir::OpSchema slice_by_index_schema();
ir::OpSchema slice_by_size_schema();
ir::OpSchema slice_update_schema();
ir::OpSchema sliding_windows_schema();
ir::OpSchema space_to_batch_schema();
ir::OpSchema space_to_depth_schema();
ir::OpSchema split_schema();
ir::OpSchema squeeze_schema();
ir::OpSchema stack_schema();
ir::OpSchema tile_schema();
ir::OpSchema transpose_schema();

}  // namespace anemone::ops
