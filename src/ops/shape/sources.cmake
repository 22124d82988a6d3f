# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  shape/concat.cc
  shape/expand_dims.cc
  shape/join.cc
  shape/reshape.cc
  shape/shape.cc
  shape/slice_by_index.cc
  shape/slice_by_size.cc
  shape/slice_update.cc
  shape/slicing.cc
  shape/split.cc
  shape/squeeze.cc
  shape/stack.cc
  shape/transpose.cc
)
