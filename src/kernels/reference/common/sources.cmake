# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/common/strided_copy.cc
  reference/common/window.cc
)
