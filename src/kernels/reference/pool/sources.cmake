# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/pool/category.cc
  reference/pool/pooling.cc
)
