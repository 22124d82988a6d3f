// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/random/random.h"

namespace anemone::kernels::reference {

void add_random(std::vector<KernelEntry>& kernels) {
  kernels.push_back({"random_bernoulli", random_bernoulli_kernel});
  kernels.push_back({"random_categorical", random_categorical_kernel});
  kernels.push_back({"random_normal", random_normal_kernel});
  kernels.push_back({"random_uniform", random_uniform_kernel});
}

}  // namespace anemone::kernels::reference
