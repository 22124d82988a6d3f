# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/norm/batch_norm.cc
  reference/norm/category.cc
  reference/norm/groups.cc
  reference/norm/instance_norm.cc
  reference/norm/l2_norm.cc
  reference/norm/layer_norm.cc
  reference/norm/local_response_norm.cc
  reference/norm/scaled_dot_product_attention.cc
  reference/norm/softmax.cc
)
