// SPDX-License-Identifier: Apache-2.0
// Kernels of the category constexpr: they decompress weights. Arithmetic is fp32, rounded once.
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

Status constexpr_affine_dequantize_kernel(const KernelCall& call);
Status constexpr_blockwise_shift_scale_kernel(const KernelCall& call);
Status constexpr_cast_kernel(const KernelCall& call);
Status constexpr_lut_to_dense_kernel(const KernelCall& call);
Status constexpr_lut_to_sparse_kernel(const KernelCall& call);
Status constexpr_sparse_blockwise_shift_scale_kernel(const KernelCall& call);
Status constexpr_sparse_to_dense_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
