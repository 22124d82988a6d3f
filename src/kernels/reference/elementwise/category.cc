// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/reference/categories.h"
#include "kernels/reference/elementwise/elementwise.h"

namespace anemone::kernels::reference {

void add_elementwise(std::vector<KernelEntry>& kernels) {
  for (auto family : {activation_kernels, binary_kernels, comparison_kernels, unary_kernels})
    std::ranges::copy(family(), std::back_inserter(kernels));
  kernels.insert(kernels.end(), {{"cast", cast_kernel},
                                 {"clip", clip_kernel},
                                 {"gelu", gelu_kernel},
                                 {"select", select_kernel}});
}

}  // namespace anemone::kernels::reference
