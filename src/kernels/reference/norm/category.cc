// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/norm/norm.h"

namespace anemone::kernels::reference {

void add_norm(std::vector<KernelEntry>& kernels) {
  kernels.push_back({"batch_norm", batch_norm_kernel});
  kernels.push_back({"instance_norm", instance_norm_kernel});
  kernels.push_back({"l2_norm", l2_norm_kernel});
  kernels.push_back({"layer_norm", layer_norm_kernel});
  kernels.push_back({"local_response_norm", local_response_norm_kernel});
  kernels.push_back({"scaled_dot_product_attention", scaled_dot_product_attention_kernel});
  kernels.push_back({"softmax", softmax_kernel});
}

}  // namespace anemone::kernels::reference
