// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/reference/categories.h"
#include "kernels/reference/image/image.h"

namespace anemone::kernels::reference {

void add_image(std::vector<KernelEntry>& kernels) {
  for (auto family : {resizing_kernels}) std::ranges::copy(family(), std::back_inserter(kernels));
  kernels.insert(kernels.end(), {{"affine", affine_kernel},
                                 {"crop_resize", crop_resize_kernel},
                                 {"non_maximum_suppression", non_maximum_suppression_kernel},
                                 {"resample", resample_kernel}});
}

}  // namespace anemone::kernels::reference
