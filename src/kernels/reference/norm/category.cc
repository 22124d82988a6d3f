// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/norm/norm.h"

namespace anemone::kernels::reference {

void add_norm(std::vector<KernelEntry>& kernels) {
  kernels.insert(kernels.end(),
                 {{"batch_norm", batch_norm_kernel},
                  {"instance_norm", instance_norm_kernel},
                  {"l2_norm", l2_norm_kernel},
                  {"layer_norm", layer_norm_kernel},
                  {"local_response_norm", local_response_norm_kernel},
                  {"scaled_dot_product_attention", scaled_dot_product_attention_kernel},
                  {"softmax", softmax_kernel}});
}

}  // namespace anemone::kernels::reference
