// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/linear/linear.h"

namespace anemone::kernels::reference {

void add_linear(std::vector<KernelEntry>& kernels) {
  kernels.insert(kernels.end(), {{"conv", conv_kernel},
                                 {"conv_transpose", conv_transpose_kernel},
                                 {"einsum", einsum_kernel},
                                 {"linear", linear_kernel},
                                 {"matmul", matmul_kernel}});
}

}  // namespace anemone::kernels::reference
