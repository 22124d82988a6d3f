// SPDX-License-Identifier: Apache-2.0
// Keys that all decoder classes of transformers share, read with each class's own defaults.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "checkpoint/hf_config.h"
#include "models/decoder_config.h"

namespace anemone::models {

// What a transformers config class assumes for keys that config.json leaves out.
struct ClassDefaults {
  std::int64_t vocab_size;
  std::int64_t hidden_size;
  std::int64_t intermediate_size;
  std::int64_t num_layers;
  std::int64_t num_heads;
  std::optional<std::int64_t> num_kv_heads = {};  // nullopt: one per head
  std::optional<std::int64_t> head_dim = {};      // nullopt: hidden_size / num_heads
  // Whether the file may say null for num_key_value_heads or head_dim, which then means what
  // nullopt does.
  bool null_kv_heads = true;
  bool null_head_dim = false;
  std::int64_t max_position;
  double rope_theta = 10000;
  double rms_norm_eps = 1e-6;
  std::string_view norm_eps_key = "rms_norm_eps";
  std::string_view activation_key = "hidden_act";  // empty: the class has one activation
  std::string_view activation = "silu";
  // Whether the class has one rope for all layers; the others read theirs on their own.
  bool has_one_rope = true;
  // Whether the class rotates only the first partial_rotary_factor of a head. The others ignore
  // the key.
  bool has_partial_rotary = false;
  // What the class makes of the rope settings before they are used, for `dim` rotated dimensions;
  // may be null.
  Status (*adjust_rope)(const checkpoint::HfConfig& config, std::int64_t dim,
                        checkpoint::RopeSettings& settings) = nullptr;
  bool tie_word_embeddings = false;
  std::optional<std::int64_t> bos_id = {};
  std::optional<std::int64_t> eos_id = {};
};

// Sizes, norm epsilon, activation, rope, token ids. Layers are all alike: rope, no window. Checks
// that the numbers fit together (heads divisible by kv heads, even head_dim).
Result<DecoderConfig> read_common_config(const checkpoint::HfConfig& config,
                                         const ClassDefaults& defaults);

// A rule of some classes, even where head_dim is given: the heads divide hidden_size.
Status check_heads_divide(const checkpoint::HfConfig& config, const DecoderConfig& decoder);

// `attention_bias`: whether all four projections of attention have biases.
Status read_attention_bias(const checkpoint::HfConfig& config, DecoderConfig& decoder);

// What a class assumes of its experts, and how it calls their number and the width of one.
struct ExpertsDefaults {
  std::string_view count_key = "num_experts";
  std::string_view width_key = "moe_intermediate_size";
  std::string_view active_key = "num_experts_per_tok";
  std::int64_t count;
  std::int64_t active;
  std::int64_t width;
};

// Rope settings of some of the layers alone: `parameters` in the place of what the file says for
// all. `theta`: where they say none.
Result<checkpoint::RopeSettings> rope_of_kind(const checkpoint::HfConfig& config, Json parameters,
                                              double theta);

// `final_logit_softcapping`, which may be absent.
Status read_logit_softcap(const checkpoint::HfConfig& config, DecoderConfig& decoder);

// Numbers of experts, checked against each other; the rest of the struct is the class's.
Result<ExpertsConfig> read_experts(const checkpoint::HfConfig& config,
                                   const ExpertsDefaults& defaults);

// Layers with experts: every `decoder_sparse_step`-th that `mlp_only_layers` does not name.
Status read_sparse_layers(const checkpoint::HfConfig& config, DecoderConfig& decoder);

// The sliding window rule of the Qwen classes: the layers that `layer_types` names slide, by
// default those from `max_window_layers` (class default 28) on, and none without
// `use_sliding_window`.
Status read_qwen_windows(const checkpoint::HfConfig& config, DecoderConfig& decoder);

// `layer_types` checked against the number of layers; true where the entry is `special`. nullopt
// when absent. kUnsupported for kinds of layers other than the two.
Result<std::optional<std::vector<bool>>> read_layer_kinds(const checkpoint::HfConfig& config,
                                                          std::int64_t num_layers,
                                                          std::string_view usual,
                                                          std::string_view special);
// Reads layer_types of "full_attention" (in older files "attention") and "sliding_attention"; true
// for sliding.
Result<std::optional<std::vector<bool>>> read_sliding_layers(const checkpoint::HfConfig& config,
                                                             std::int64_t num_layers);

// Gives the window to the layers that slide. kParseError when one does and there is no window.
Status set_windows(const checkpoint::HfConfig& config, std::optional<std::int64_t> window,
                   const std::vector<bool>& slides, DecoderConfig& decoder);

}  // namespace anemone::models
