// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/constexpr/constexpr.h"

namespace anemone::kernels::reference {

void add_constexpr(std::vector<KernelEntry>& kernels) {
  kernels.push_back({"constexpr_affine_dequantize", constexpr_affine_dequantize_kernel});
  kernels.push_back({"constexpr_blockwise_shift_scale", constexpr_blockwise_shift_scale_kernel});
  kernels.push_back({"constexpr_cast", constexpr_cast_kernel});
  kernels.push_back({"constexpr_lut_to_dense", constexpr_lut_to_dense_kernel});
  kernels.push_back({"constexpr_lut_to_sparse", constexpr_lut_to_sparse_kernel});
  kernels.push_back(
      {"constexpr_sparse_blockwise_shift_scale", constexpr_sparse_blockwise_shift_scale_kernel});
  kernels.push_back({"constexpr_sparse_to_dense", constexpr_sparse_to_dense_kernel});
}

}  // namespace anemone::kernels::reference
