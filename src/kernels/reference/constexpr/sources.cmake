# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/constexpr/blocks.cc
  reference/constexpr/category.cc
  reference/constexpr/constexpr_affine_dequantize.cc
  reference/constexpr/constexpr_blockwise_shift_scale.cc
  reference/constexpr/constexpr_cast.cc
  reference/constexpr/constexpr_lut_to_dense.cc
  reference/constexpr/constexpr_lut_to_sparse.cc
  reference/constexpr/constexpr_sparse_blockwise_shift_scale.cc
  reference/constexpr/constexpr_sparse_to_dense.cc
  reference/constexpr/elements.cc
  reference/constexpr/sparse.cc
)
