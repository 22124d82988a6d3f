# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/pool/avg_pool.cc
  reference/pool/category.cc
  reference/pool/l2_pool.cc
  reference/pool/max_pool.cc
)
