// SPDX-License-Identifier: Apache-2.0
// Kernels of the category pool. Sums are fp32 in the order of the window.
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

Status avg_pool_kernel(const KernelCall& call);
Status l2_pool_kernel(const KernelCall& call);
Status max_pool_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
