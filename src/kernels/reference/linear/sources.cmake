# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/linear/category.cc
  reference/linear/conv.cc
  reference/linear/conv_transpose.cc
  reference/linear/dot.cc
  reference/linear/einsum.cc
  reference/linear/gemm.cc
  reference/linear/linear.cc
  reference/linear/matmul.cc
  reference/linear/products.cc
)
