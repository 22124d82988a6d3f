# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/recurrent/category.cc
  reference/recurrent/gru.cc
  reference/recurrent/lstm.cc
  reference/recurrent/rnn.cc
  reference/recurrent/sequence.cc
)
