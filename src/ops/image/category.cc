// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/image/image.h"

namespace anemone::ops {

void add_image(std::vector<ir::OpSchema>& schemas) {
  schemas.push_back(affine_schema());
  schemas.push_back(crop_resize_schema());
  schemas.push_back(non_maximum_suppression_schema());
  schemas.push_back(resample_schema());
  schemas.push_back(resize_schema());
  schemas.push_back(resize_bilinear_schema());
  schemas.push_back(resize_nearest_neighbor_schema());
  schemas.push_back(upsample_bilinear_schema());
  schemas.push_back(upsample_nearest_neighbor_schema());
}

}  // namespace anemone::ops
