# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  recurrent/category.cc
  recurrent/gru_rnn.cc
  recurrent/lstm.cc
  recurrent/sequence.cc
)
