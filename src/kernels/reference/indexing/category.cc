// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/reference/categories.h"
#include "kernels/reference/indexing/indexing.h"

namespace anemone::kernels::reference {

void add_indexing(std::vector<KernelEntry>& kernels) {
  for (auto family : {gather_kernels, scatter_kernels})
    std::ranges::copy(family(), std::back_inserter(kernels));
  kernels.insert(kernels.end(), {{"non_zero", non_zero_kernel}});
}

}  // namespace anemone::kernels::reference
