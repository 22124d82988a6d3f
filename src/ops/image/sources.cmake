# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  image/affine.cc
  image/category.cc
  image/crop_resize.cc
  image/non_maximum_suppression.cc
  image/resample.cc
  image/resize.cc
  image/resize_bilinear.cc
  image/resize_nearest_neighbor.cc
  image/resizing.cc
  image/upsample_bilinear.cc
  image/upsample_nearest_neighbor.cc
)
