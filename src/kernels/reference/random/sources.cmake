# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/random/category.cc
  reference/random/philox.cc
  reference/random/random_bernoulli.cc
  reference/random/random_categorical.cc
  reference/random/random_normal.cc
  reference/random/random_uniform.cc
)
