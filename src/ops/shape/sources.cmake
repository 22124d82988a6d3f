# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  shape/band_part.cc
  shape/blocks.cc
  shape/category.cc
  shape/crop.cc
  shape/expand_dims.cc
  shape/fill.cc
  shape/flatten2d.cc
  shape/join.cc
  shape/pad.cc
  shape/range_1d.cc
  shape/reshape.cc
  shape/reshape_like.cc
  shape/reverse.cc
  shape/reverse_sequence.cc
  shape/shape.cc
  shape/slices.cc
  shape/sliding_windows.cc
  shape/space_batch.cc
  shape/split.cc
  shape/squeeze.cc
  shape/tile.cc
  shape/transpose.cc
)
