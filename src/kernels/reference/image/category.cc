// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/image/image.h"

namespace anemone::kernels::reference {

void add_image(std::vector<KernelEntry>& kernels) {
  kernels.push_back({"affine", affine_kernel});
  kernels.push_back({"crop_resize", crop_resize_kernel});
  kernels.push_back({"non_maximum_suppression", non_maximum_suppression_kernel});
  kernels.push_back({"resample", resample_kernel});
  kernels.push_back({"resize", resize_kernel});
  kernels.push_back({"resize_bilinear", resize_bilinear_kernel});
  kernels.push_back({"resize_nearest_neighbor", resize_nearest_neighbor_kernel});
  kernels.push_back({"upsample_bilinear", upsample_bilinear_kernel});
  kernels.push_back({"upsample_nearest_neighbor", upsample_nearest_neighbor_kernel});
}

}  // namespace anemone::kernels::reference
