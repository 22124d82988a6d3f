// SPDX-License-Identifier: Apache-2.0
// Kernels of the category linear: products and sums over a contraction axis. Each output element is
// one canonical dot product (dot.h), so results do not depend on how many rows or tokens a call
// has.
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

Status conv_kernel(const KernelCall& call);
Status conv_transpose_kernel(const KernelCall& call);
Status einsum_kernel(const KernelCall& call);
Status linear_kernel(const KernelCall& call);
Status matmul_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
