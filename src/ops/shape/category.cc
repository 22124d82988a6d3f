// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "ops/categories.h"
#include "ops/shape/shape.h"

namespace anemone::ops {

void add_shape(std::vector<ir::OpSchema>& schemas) {
  for (auto family :
       {block_schemas, fill_schemas, join_schemas, slice_schemas, space_batch_schemas})
    std::ranges::move(family(), std::back_inserter(schemas));
  for (auto make : {band_part_schema, crop_schema, expand_dims_schema, flatten2d_schema, pad_schema,
                    range_1d_schema, reshape_like_schema, reshape_schema, reverse_schema,
                    reverse_sequence_schema, shape_schema, sliding_windows_schema, split_schema,
                    squeeze_schema, tile_schema, transpose_schema})
    schemas.push_back(make());
}

}  // namespace anemone::ops
