// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/constexpr/constexpr.h"

namespace anemone::kernels::reference {

void add_constexpr(std::vector<KernelEntry>& kernels) {
  kernels.insert(
      kernels.end(),
      {{"constexpr_affine_dequantize", constexpr_affine_dequantize_kernel},
       {"constexpr_blockwise_shift_scale", constexpr_blockwise_shift_scale_kernel},
       {"constexpr_cast", constexpr_cast_kernel},
       {"constexpr_lut_to_dense", constexpr_lut_to_dense_kernel},
       {"constexpr_lut_to_sparse", constexpr_lut_to_sparse_kernel},
       {"constexpr_sparse_blockwise_shift_scale", constexpr_sparse_blockwise_shift_scale_kernel},
       {"constexpr_sparse_to_dense", constexpr_sparse_to_dense_kernel}});
}

}  // namespace anemone::kernels::reference
