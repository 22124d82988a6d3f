// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/indexing/indexing.h"

#include "kernels/reference/categories.h"

namespace anemone::kernels::reference {

void add_indexing(std::vector<KernelEntry>& kernels) {
  kernels.push_back({"gather", gather_kernel});
  kernels.push_back({"gather_along_axis", gather_along_axis_kernel});
  kernels.push_back({"gather_nd", gather_nd_kernel});
  kernels.push_back({"non_zero", non_zero_kernel});
  kernels.push_back({"scatter", scatter_kernel});
  kernels.push_back({"scatter_along_axis", scatter_along_axis_kernel});
  kernels.push_back({"scatter_nd", scatter_nd_kernel});
}

}  // namespace anemone::kernels::reference
