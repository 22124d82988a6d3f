// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/pool/pool.h"

namespace anemone::kernels::reference {

void add_pool(std::vector<KernelEntry>& kernels) {
  kernels.push_back({"avg_pool", avg_pool_kernel});
  kernels.push_back({"l2_pool", l2_pool_kernel});
  kernels.push_back({"max_pool", max_pool_kernel});
}

}  // namespace anemone::kernels::reference
