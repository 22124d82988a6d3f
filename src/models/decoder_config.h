// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "artifact/manifest.h"

namespace anemone::models {

// Of the gated MLP. Names are those of transformers' `hidden_act`.
enum class Activation { kSilu, kGelu, kGeluTanh, kRelu };

// RMS norm of queries and keys.
enum class QkNorm {
  kNone,
  kBeforeRope,  // of each head
  kAfterRope,   // of each head
  kWhole,       // of all heads together, before they are told apart
};

// Where a layer's projections lie in the checkpoint, relative to the layer. Several tensors of one
// projection are stacked by rows; some checkpoints hold them stacked.
struct TensorNames {
  std::vector<std::string> qkv = {"q_proj", "k_proj", "v_proj"};
  std::string q_norm = "q_norm";
  std::string k_norm = "k_norm";
  std::vector<std::string> gate_up = {"gate_proj", "up_proj"};
};

// What differs from layer to layer.
struct LayerConfig {
  bool has_rope = true;
  std::int64_t window =
      0;  // sliding attention window in tokens, the current one included; 0 = none
};

// A decoder as its architecture file reads it from config.json; everything the graph needs.
struct DecoderConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t max_position = 0;
  double rms_norm_eps = 1e-6;
  Activation activation = Activation::kSilu;
  bool tie_word_embeddings = false;
  bool qkv_bias = false;
  bool output_bias = false;  // of o_proj
  bool mlp_bias = false;
  QkNorm qk_norm = QkNorm::kNone;
  TensorNames tensors;
  artifact::Rope rope;
  std::vector<LayerConfig> layers;
  // Class defaults for files that do not say.
  std::vector<std::int64_t> eos_ids;
  std::optional<std::int64_t> bos_id;

  std::int64_t num_layers() const { return static_cast<std::int64_t>(layers.size()); }
};

}  // namespace anemone::models
