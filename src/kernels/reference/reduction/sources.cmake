# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/reduction/arg_reduce.cc
  reference/reduction/argsort.cc
  reference/reduction/category.cc
  reference/reduction/cumsum.cc
  reference/reduction/one_hot.cc
  reference/reduction/reduce.cc
  reference/reduction/topk.cc
)
