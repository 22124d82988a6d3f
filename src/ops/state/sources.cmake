# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  state/category.cc
  state/const.cc
  state/read_state.cc
  state/write_state.cc
)
