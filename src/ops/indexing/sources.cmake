# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  indexing/category.cc
  indexing/gather.cc
  indexing/gather_along_axis.cc
  indexing/gather_nd.cc
  indexing/indexing.cc
  indexing/non_zero.cc
  indexing/scatter.cc
  indexing/scatter_along_axis.cc
  indexing/scatter_nd.cc
)
