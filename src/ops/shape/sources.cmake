# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  shape/band_part.cc
  shape/concat.cc
  shape/expand_dims.cc
  shape/fill.cc
  shape/fill_like.cc
  shape/join.cc
  shape/pad.cc
  shape/range_1d.cc
  shape/reshape.cc
  shape/reshape_like.cc
  shape/reverse.cc
  shape/shape.cc
  shape/shape_op.cc
  shape/slice_by_index.cc
  shape/slice_by_size.cc
  shape/slice_update.cc
  shape/slicing.cc
  shape/split.cc
  shape/squeeze.cc
  shape/stack.cc
  shape/tile.cc
  shape/transpose.cc
)
