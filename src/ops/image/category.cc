// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/image/image.h"

namespace anemone::ops {

void add_image(std::vector<ir::OpSchema>& schemas) {
  for (auto make : {affine_schema, crop_resize_schema, non_maximum_suppression_schema,
                    resample_schema, resize_bilinear_schema, resize_nearest_neighbor_schema,
                    resize_schema, upsample_bilinear_schema, upsample_nearest_neighbor_schema})
    schemas.push_back(make());
}

}  // namespace anemone::ops
