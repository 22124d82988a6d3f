# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  control/category.cc
  control/classify.cc
  control/cond.cc
  control/lists.cc
  control/while_loop.cc
)
