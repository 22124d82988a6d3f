// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/shape.h"

#include "ops/categories.h"

namespace anemone::ops {

void add_shape(std::vector<ir::OpSchema>& schemas) {
  for (auto make : {band_part_schema,
                    batch_to_space_schema,
                    concat_schema,
                    crop_schema,
                    depth_to_space_schema,
                    expand_dims_schema,
                    fill_schema,
                    fill_like_schema,
                    flatten2d_schema,
                    pad_schema,
                    pixel_shuffle_schema,
                    pixel_unshuffle_schema,
                    range_1d_schema,
                    reshape_schema,
                    reshape_like_schema,
                    reverse_schema,
                    reverse_sequence_schema,
                    shape_schema,
                    slice_by_index_schema,
                    slice_by_size_schema,
                    slice_update_schema,
                    sliding_windows_schema,
                    space_to_batch_schema,
                    space_to_depth_schema,
                    split_schema,
                    squeeze_schema,
                    stack_schema,
                    tile_schema,
                    transpose_schema})
    schemas.push_back(make());
}

}  // namespace anemone::ops
