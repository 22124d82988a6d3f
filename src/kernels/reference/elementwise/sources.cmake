# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/elementwise/activation.cc
  reference/elementwise/binary.cc
  reference/elementwise/cast.cc
  reference/elementwise/category.cc
  reference/elementwise/clip.cc
  reference/elementwise/comparison.cc
  reference/elementwise/gelu.cc
  reference/elementwise/select.cc
  reference/elementwise/unary.cc
)
