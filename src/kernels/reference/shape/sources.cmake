# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/shape/band_part.cc
  reference/shape/concat.cc
  reference/shape/copy.cc
  reference/shape/expand_dims.cc
  reference/shape/fill.cc
  reference/shape/fill_like.cc
  reference/shape/fill_value.cc
  reference/shape/pad.cc
  reference/shape/range_1d.cc
  reference/shape/reshape.cc
  reference/shape/reshape_like.cc
  reference/shape/reverse.cc
  reference/shape/shape.cc
  reference/shape/shape_op.cc
  reference/shape/slice_by_index.cc
  reference/shape/slice_by_size.cc
  reference/shape/slice_update.cc
  reference/shape/slicing.cc
  reference/shape/split.cc
  reference/shape/squeeze.cc
  reference/shape/stack.cc
  reference/shape/tile.cc
  reference/shape/transpose.cc
)
