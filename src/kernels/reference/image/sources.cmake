# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/image/affine.cc
  reference/image/category.cc
  reference/image/crop_resize.cc
  reference/image/non_maximum_suppression.cc
  reference/image/pixels.cc
  reference/image/resample.cc
  reference/image/resize.cc
  reference/image/resize_bilinear.cc
  reference/image/resize_nearest_neighbor.cc
  reference/image/sampling.cc
  reference/image/upsample_bilinear.cc
  reference/image/upsample_nearest_neighbor.cc
)
