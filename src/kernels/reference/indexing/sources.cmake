# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources reference/indexing/gather.cc reference/indexing/gather_along_axis.cc
     reference/indexing/gather_nd.cc reference/indexing/indexing.cc
     reference/indexing/non_zero.cc reference/indexing/runs.cc reference/indexing/scatter.cc
     reference/indexing/scatter_along_axis.cc reference/indexing/scatter_nd.cc)
