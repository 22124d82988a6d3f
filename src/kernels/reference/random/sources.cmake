# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/random/category.cc
  reference/random/distributions.cc
  reference/random/philox.cc
  reference/random/random_categorical.cc
)
