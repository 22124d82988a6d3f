// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/reference/categories.h"
#include "kernels/reference/random/random.h"

namespace anemone::kernels::reference {

void add_random(std::vector<KernelEntry>& kernels) {
  for (auto family : {distribution_kernels})
    std::ranges::copy(family(), std::back_inserter(kernels));
  kernels.insert(kernels.end(), {{"random_categorical", random_categorical_kernel}});
}

}  // namespace anemone::kernels::reference
