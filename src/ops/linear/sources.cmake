# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  linear/category.cc
  linear/conv.cc
  linear/conv_transpose.cc
  linear/convolution.cc
  linear/einsum.cc
  linear/linear.cc
  linear/matmul.cc
)
