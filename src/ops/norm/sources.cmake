# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  norm/batch_norm.cc
  norm/category.cc
  norm/channel_norm.cc
  norm/instance_norm.cc
  norm/l2_norm.cc
  norm/layer_norm.cc
  norm/local_response_norm.cc
  norm/scaled_dot_product_attention.cc
  norm/softmax.cc
)
