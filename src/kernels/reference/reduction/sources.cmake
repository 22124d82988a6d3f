# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/reduction/argsort.cc
  reference/reduction/cumsum.cc
  reference/reduction/one_hot.cc
  reference/reduction/ordering.cc
  reference/reduction/reduce.cc
  reference/reduction/reduce_argmax.cc
  reference/reduction/reduce_argmin.cc
  reference/reduction/reduce_l1_norm.cc
  reference/reduction/reduce_l2_norm.cc
  reference/reduction/reduce_log_sum.cc
  reference/reduction/reduce_log_sum_exp.cc
  reference/reduction/reduce_max.cc
  reference/reduction/reduce_mean.cc
  reference/reduction/reduce_min.cc
  reference/reduction/reduce_prod.cc
  reference/reduction/reduce_sum.cc
  reference/reduction/reduce_sum_square.cc
  reference/reduction/reduction.cc
  reference/reduction/topk.cc
)
