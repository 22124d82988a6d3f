// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/reference/categories.h"
#include "kernels/reference/pool/pool.h"

namespace anemone::kernels::reference {

void add_pool(std::vector<KernelEntry>& kernels) {
  for (auto family : {pooling_kernels}) std::ranges::copy(family(), std::back_inserter(kernels));
}

}  // namespace anemone::kernels::reference
