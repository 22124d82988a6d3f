# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  recurrent/category.cc
  recurrent/gru.cc
  recurrent/lstm.cc
  recurrent/rnn.cc
  recurrent/sequence.cc
)
