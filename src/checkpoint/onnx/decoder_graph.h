// SPDX-License-Identifier: Apache-2.0
// What a decoder's graph computes, found by walking it: which matrix is which projection is told by
// where it stands, not by its name.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <optional>
#include <vector>

#include "checkpoint/onnx/matrix.h"

namespace anemone::checkpoint::onnx {

struct Projection {
  Matrix matrix;
  const Constant* bias = nullptr;  // [rows of the whole constant], from `bias_first` on
  std::int64_t bias_first = 0;
};

struct DecoderLayer {
  const Constant* input_norm = nullptr;
  Projection q, k, v, o;
  const Constant* q_norm = nullptr;  // or none, as k_norm
  const Constant* k_norm = nullptr;
  const Constant* post_attention_norm = nullptr;
  Projection gate, up, down;
};

// Pre-norm layers with grouped-query attention, rotary embedding of halves (in the attention, or by
// RotaryEmbedding nodes before it) and a gated MLP with SiLU.
struct DecoderGraph {
  Matrix embedding;
  std::vector<DecoderLayer> layers;
  const Constant* final_norm = nullptr;
  Projection head;
  bool is_tied = false;  // the head multiplies with the embedding's own bytes
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  double norm_epsilon = 0;
  const Constant* cos = nullptr;  // [positions, rotary dim / 2]
  const Constant* sin = nullptr;
};

// kUnsupported, with the node, for a graph that computes anything else.
Result<DecoderGraph> read_decoder(const OnnxGraph& graph);

}  // namespace anemone::checkpoint::onnx
