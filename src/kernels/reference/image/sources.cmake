# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/image/affine.cc
  reference/image/category.cc
  reference/image/crop_resize.cc
  reference/image/non_maximum_suppression.cc
  reference/image/pixels.cc
  reference/image/resample.cc
  reference/image/resizing.cc
  reference/image/sampling.cc
)
