// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/linear/linear.h"

namespace anemone::kernels::reference {

void add_linear(std::vector<KernelEntry>& kernels) {
  kernels.push_back({"conv", conv_kernel});
  kernels.push_back({"conv_transpose", conv_transpose_kernel});
  kernels.push_back({"einsum", einsum_kernel});
  kernels.push_back({"linear", linear_kernel});
  kernels.push_back({"matmul", matmul_kernel});
}

}  // namespace anemone::kernels::reference
