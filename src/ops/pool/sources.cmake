# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  pool/avg_pool.cc
  pool/category.cc
  pool/l2_pool.cc
  pool/max_pool.cc
  pool/pooling.cc
)
