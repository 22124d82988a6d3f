// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/reference/categories.h"
#include "kernels/reference/reduction/reduction.h"

namespace anemone::kernels::reference {

void add_reduction(std::vector<KernelEntry>& kernels) {
  for (auto family : {arg_reduce_kernels, reduce_kernels})
    std::ranges::copy(family(), std::back_inserter(kernels));
  kernels.insert(kernels.end(), {{"argsort", argsort_kernel},
                                 {"cumsum", cumsum_kernel},
                                 {"one_hot", one_hot_kernel},
                                 {"topk", topk_kernel}});
}

}  // namespace anemone::kernels::reference
