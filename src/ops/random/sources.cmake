# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  random/category.cc
  random/distributions.cc
)
