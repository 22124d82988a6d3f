# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  elementwise/activation.cc
  elementwise/binary.cc
  elementwise/cast.cc
  elementwise/category.cc
  elementwise/clip.cc
  elementwise/comparison.cc
  elementwise/families.cc
  elementwise/gelu.cc
  elementwise/select.cc
  elementwise/unary.cc
)
