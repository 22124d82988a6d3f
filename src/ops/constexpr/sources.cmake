# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  constexpr/category.cc
  constexpr/checks.cc
  constexpr/constexpr_affine_dequantize.cc
  constexpr/constexpr_blockwise_shift_scale.cc
  constexpr/constexpr_cast.cc
  constexpr/constexpr_lut_to_dense.cc
  constexpr/constexpr_lut_to_sparse.cc
  constexpr/constexpr_sparse_blockwise_shift_scale.cc
  constexpr/constexpr_sparse_to_dense.cc
)
