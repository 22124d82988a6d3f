# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/indexing/category.cc
  reference/indexing/gather.cc
  reference/indexing/non_zero.cc
  reference/indexing/runs.cc
  reference/indexing/scatter.cc
)
