// SPDX-License-Identifier: Apache-2.0
// Kernels of the category norm. Statistics are fp32 whatever the dtype of x.
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

Status batch_norm_kernel(const KernelCall& call);
Status instance_norm_kernel(const KernelCall& call);
Status l2_norm_kernel(const KernelCall& call);
Status layer_norm_kernel(const KernelCall& call);
Status local_response_norm_kernel(const KernelCall& call);
Status scaled_dot_product_attention_kernel(const KernelCall& call);
Status softmax_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
