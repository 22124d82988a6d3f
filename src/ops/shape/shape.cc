// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/shape.h"

#include "ops/categories.h"

namespace anemone::ops {

void add_shape(std::vector<ir::OpSchema>& schemas) {
  for (auto make :
       {band_part_schema, concat_schema, expand_dims_schema, fill_schema, fill_like_schema,
        pad_schema, range_1d_schema, reshape_schema, reshape_like_schema, reverse_schema,
        shape_schema, slice_by_index_schema, slice_by_size_schema, slice_update_schema,
        split_schema, squeeze_schema, stack_schema, tile_schema, transpose_schema})
    schemas.push_back(make());
}

}  // namespace anemone::ops
