# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  random/category.cc
  random/distribution.cc
  random/random_bernoulli.cc
  random/random_categorical.cc
  random/random_normal.cc
  random/random_uniform.cc
)
