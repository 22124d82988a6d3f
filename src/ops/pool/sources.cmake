# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  pool/category.cc
  pool/pooling.cc
)
