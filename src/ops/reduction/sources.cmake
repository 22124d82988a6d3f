# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  reduction/argsort.cc
  reduction/category.cc
  reduction/cumsum.cc
  reduction/one_hot.cc
  reduction/reduce.cc
  reduction/topk.cc
)
