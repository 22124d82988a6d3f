# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/shape/band_part.cc
  reference/shape/blocks.cc
  reference/shape/category.cc
  reference/shape/concat.cc
  reference/shape/crop.cc
  reference/shape/fill.cc
  reference/shape/pad.cc
  reference/shape/range_1d.cc
  reference/shape/rearrange.cc
  reference/shape/reverse.cc
  reference/shape/reverse_sequence.cc
  reference/shape/shape.cc
  reference/shape/slices.cc
  reference/shape/sliding_windows.cc
  reference/shape/space_batch.cc
  reference/shape/split.cc
  reference/shape/stack.cc
  reference/shape/tile.cc
  reference/shape/transpose.cc
  reference/shape/views.cc
)
