// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "artifact/manifest.h"

namespace anemone::models {

// Activation of the gated MLP, by transformers' names for `hidden_act`.
// kClampedSwiglu (gpt_oss): gate and up are clamped, gate * sigmoid(alpha * gate) * (up + 1).
enum class Activation { kSilu, kGelu, kGeluTanh, kRelu, kClampedSwiglu };

// RMS norm of queries and keys.
enum class QkNorm {
  kNone,
  kBeforeRope,  // of each head
  kAfterRope,   // of each head
  kWhole,       // of all heads together, before they are told apart
};

// Where weights lie in the checkpoint: a layer's relative to model.layers.N. Several tensors of one
// projection are stacked by rows; some checkpoints hold them stacked. An empty name stands for a
// norm that the model does not have.
struct TensorNames {
  std::string final_norm = "model.norm";
  std::string head = "lm_head";
  std::string mlp = "mlp.";
  std::string attention_input_norm = "input_layernorm";
  std::string attention_output_norm = {};
  std::string mlp_input_norm = "post_attention_layernorm";
  std::string mlp_output_norm = {};
  std::vector<std::string> qkv = {"q_proj", "k_proj", "v_proj"};
  std::string q_norm = "q_norm";
  std::string k_norm = "k_norm";
  std::string attention_output = "o_proj";
  // One number per head that joins the scores in the softmax and has no value; empty: none.
  std::string sinks = {};
  std::vector<std::string> gate_up = {"gate_proj", "up_proj"};
  std::string down = "down_proj";
};

// A sparse mixture of gated MLPs: each token goes through the few experts that a router scores
// highest, and their outputs are added with weights. Tensors lie relative to TensorNames::mlp.
struct ExpertsConfig {
  enum class Score {
    kSoftmax,  // over all experts
    kSigmoid,
  };
  std::int64_t count = 0;
  std::int64_t active = 0;        // of them per token
  std::int64_t width = 0;         // of the MLP of one
  std::int64_t shared_width = 0;  // of the MLP beside them, which all tokens take; 0: none
  Score score = Score::kSoftmax;
  bool is_normalized = false;  // the weights of a token are divided by their sum
  double sum_epsilon = 0;      // and this, where scores are sigmoids
  double scale = 1;            // of the weights, after that
  bool router_bias = false;
  // A vector that is added to the scores for the choice alone; empty: none.
  std::string selection_bias = {};
  bool has_bias = false;  // of all projections, beside them: stacked where they are
  std::string router = "gate";
  // Tensors of one expert, "experts.<e>.<name>.weight"; a file may stack all of them instead, and
  // where `is_stacked` it does, but for one that was converted.
  std::vector<std::string> gate_up = {"gate_proj", "up_proj"};
  std::string down = "down_proj";
  bool is_stacked = false;
  // Stacked: "experts.gate_up_proj" [count, 2 * width, hidden_size] and "experts.down_proj"
  // [count, hidden_size, width], each matrix transposed in some classes, but not in "..._blocks",
  // where they are quantized.
  bool is_transposed = false;
  bool is_interleaved = false;  // gate and up take turns in the rows of the stacked tensor
  // The MLP beside them, whose output is multiplied by sigmoid(gate(x)) and added; empty: none
  // here.
  std::string shared = {};
  std::string shared_gate = {};
};

// Linear attention by a gated delta rule.
struct DeltaNetConfig {
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;  // a multiple
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t taps = 0;        // of the convolution before it
  bool is_interleaved = false;  // one tensor holds all projections, by key head
  // Value head i belongs to key head i mod key_heads, and not to i / (value_heads / key_heads).
  bool is_tiled = false;
};

// What differs from layer to layer.
struct LayerConfig {
  bool is_delta_net = false;   // DecoderConfig::delta_net in the place of attention
  bool has_experts = false;    // DecoderConfig::experts in the place of the MLP
  bool is_short_conv = false;  // a short convolution over time in the place of attention
  bool has_rope = true;
  std::size_t rope = 0;  // which of DecoderConfig::ropes
  std::int64_t window =
      0;  // sliding attention window in tokens, the current one included; 0 = none
  // 0: what DecoderConfig says.
  std::int64_t head_dim = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t intermediate_size = 0;
  bool values_are_keys = false;  // one projection gives both, before norm and rope
  // The earlier layer whose keys and values it attends to; -1: its own.
  std::int64_t kv_layer = -1;

  bool operator==(const LayerConfig&) const = default;
};

// What layer `made_in` or a later one gives to layers up to `last_use` besides the hidden state,
// [1, channels, T, 1]. It crosses the border of a shard after the hidden state's channels.
struct CarriedValue {
  std::string name;
  std::int64_t channels = 0;
  std::int64_t made_in = 0;
  std::int64_t last_use = 0;

  bool crosses(std::int64_t border) const { return made_in < border && border <= last_use; }
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
  double norm_offset = 0;      // added to the weights of all norms
  double embedding_scale = 1;  // of what enters the first layer
  double attention_scale = 0;  // of the scores; 0: head_dim^-0.5
  double residual_scale = 1;   // of what attention and MLP add to the hidden state
  double logit_scale = 1;
  double logit_softcap = 0;  // logits are softcap * tanh(logits / softcap); 0: as they are
  Activation activation = Activation::kSilu;
  double swiglu_alpha = 0;  // of kClampedSwiglu
  double swiglu_limit = 0;
  bool tie_word_embeddings = false;
  bool qkv_bias = false;
  bool output_bias = false;  // of o_proj
  bool mlp_bias = false;
  QkNorm qk_norm = QkNorm::kNone;
  bool has_output_gate = false;  // a second half of each query's rows gates what attention gives
  bool has_value_norm = false;   // RMS norm of each value head, without a weight
  std::int64_t layer_embedding_size = 0;  // of what each layer adds for the token; 0: nothing
  std::int64_t conv_taps = 0;  // of short convolutions: the current token and those before it
  bool conv_bias = false;
  std::int64_t grouped_conv_taps = 0;  // zaya: of a second convolution after the first
  std::int64_t router_width = 0;       // zaya: of the hidden state of the router
  ExpertsConfig experts;
  DeltaNetConfig delta_net;
  TensorNames tensors;
  // The labels of a token classifier, one per logit; empty for a model that generates. A
  // classifier's attention is bidirectional, and it keeps no caches.
  std::vector<std::string> labels = {};
  bool head_bias = false;
  // Pairs of a head lie side by side (2j, 2j + 1) in the checkpoint, and half a head apart here.
  bool rope_is_interleaved = false;
  std::vector<artifact::Rope> ropes;
  std::vector<LayerConfig> layers;
  std::vector<CarriedValue> carried;
  // Class defaults for files that do not say.
  std::vector<std::int64_t> eos_ids;
  std::optional<std::int64_t> bos_id;

  bool classifies() const { return !labels.empty(); }
  // Columns of the logits.
  std::int64_t num_logits() const {
    return classifies() ? static_cast<std::int64_t>(labels.size()) : vocab_size;
  }
  // Whether a layer attends to the keys and values of another.
  bool shares_keys() const {
    return std::ranges::any_of(layers,
                               [](const LayerConfig& layer) { return layer.kv_layer >= 0; });
  }
  std::int64_t num_layers() const { return static_cast<std::int64_t>(layers.size()); }
  const LayerConfig& layer(std::int64_t index) const {
    return layers[static_cast<std::size_t>(index)];
  }
  // Whether no earlier layer is of the same kind. Layers of one kind differ in their weights alone.
  bool is_first_of_its_kind(std::int64_t index) const { return first_like(index) == index; }
  std::int64_t first_like(std::int64_t index) const {
    return std::ranges::find(layers, layer(index)) - layers.begin();
  }
  std::int64_t head_dim_of(const LayerConfig& layer) const {
    return layer.head_dim != 0 ? layer.head_dim : head_dim;
  }
  std::int64_t kv_heads_of(const LayerConfig& layer) const {
    return layer.num_kv_heads != 0 ? layer.num_kv_heads : num_kv_heads;
  }
  std::int64_t mlp_width_of(const LayerConfig& layer) const {
    return layer.intermediate_size != 0 ? layer.intermediate_size : intermediate_size;
  }
};

}  // namespace anemone::models
