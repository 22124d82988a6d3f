# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  reduction/argsort.cc
  reduction/cumsum.cc
  reduction/families.cc
  reduction/one_hot.cc
  reduction/reduce_argmax.cc
  reduction/reduce_argmin.cc
  reduction/reduce_l1_norm.cc
  reduction/reduce_l2_norm.cc
  reduction/reduce_log_sum.cc
  reduction/reduce_log_sum_exp.cc
  reduction/reduce_max.cc
  reduction/reduce_mean.cc
  reduction/reduce_min.cc
  reduction/reduce_prod.cc
  reduction/reduce_sum.cc
  reduction/reduce_sum_square.cc
  reduction/reduction.cc
  reduction/topk.cc
)
