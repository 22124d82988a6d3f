// SPDX-License-Identifier: Apache-2.0
// GptOssForCausalLM: attention with sinks, whose layers slide by turns, and experts in every layer
// with biases and a clamped gate. Their weights are MXFP4 on the hub.
#include "models/gpt_oss.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

using checkpoint::HfConfig;

Result<double> positive_number(const HfConfig& config, std::string_view key, double fallback) {
  ANEMONE_ASSIGN_OR_RETURN(const double value, config.number(key, fallback));
  if (!(value > 0))
    return parse_error("[{}] expected {} to be positive, got {}", config.subject(), key, value);
  return value;
}

Result<DecoderConfig> read_gpt_oss_config(const HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 201088,
                                                       .hidden_size = 2880,
                                                       .intermediate_size = 2880,
                                                       .num_layers = 36,
                                                       .num_heads = 64,
                                                       .num_kv_heads = 8,
                                                       .head_dim = 64,
                                                       .null_kv_heads = false,
                                                       .max_position = 131072,
                                                       .rope_theta = 150000,
                                                       .rms_norm_eps = 1e-5,
                                                       .activation_key = "",
                                                       .adjust_rope = default_to_yarn}));
  ANEMONE_RETURN_IF_ERROR(read_gpt_oss_blocks(config, 2880, decoder));
  std::optional<std::int64_t> window;
  if (!config.is_null("sliding_window")) {
    ANEMONE_ASSIGN_OR_RETURN(window, config.size("sliding_window", 128));
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto listed, read_sliding_layers(config, decoder.num_layers()));
  std::vector<bool> by_turns;
  for (std::int64_t i = 0; i < decoder.num_layers(); ++i) by_turns.push_back(i % 2 == 0);
  ANEMONE_RETURN_IF_ERROR(set_windows(config, window, listed.value_or(by_turns), decoder));

  return decoder;
}

}  // namespace

Status default_to_yarn(const HfConfig& config, std::int64_t /*dim*/,
                       checkpoint::RopeSettings& settings) {
  const Json* scaling = json_member(config.json(), "rope_scaling");
  if ((scaling != nullptr && !scaling->empty()) || config.has("rope_parameters")) return {};
  settings.type = "yarn";
  settings.parameters->update(Json{{"factor", 32.0},
                                   {"beta_fast", 32.0},
                                   {"beta_slow", 1.0},
                                   {"truncate", false},
                                   {"original_max_position_embeddings", 4096}});
  return {};
}

Status read_gpt_oss_blocks(const HfConfig& config, std::int64_t width, DecoderConfig& decoder) {
  ANEMONE_ASSIGN_OR_RETURN(const bool has_bias, config.boolean("attention_bias", true));
  decoder.qkv_bias = decoder.output_bias = has_bias;
  decoder.tensors.sinks = "sinks";
  decoder.activation = Activation::kClampedSwiglu;
  ANEMONE_ASSIGN_OR_RETURN(decoder.swiglu_alpha, config.number("swiglu_alpha", 1.702));
  ANEMONE_ASSIGN_OR_RETURN(decoder.swiglu_limit, positive_number(config, "swiglu_limit", 7));

  const std::string_view count_key =
      config.has("num_experts") ? "num_experts" : "num_local_experts";
  ANEMONE_ASSIGN_OR_RETURN(ExpertsConfig experts,
                           read_experts(config, {.count_key = count_key,
                                                 .width_key = "intermediate_size",
                                                 .count = 128,
                                                 .active = 4,
                                                 .width = width}));
  experts.is_normalized = true;
  experts.router = "router";
  experts.router_bias = true;
  experts.has_bias = true;
  experts.is_stacked = true;
  experts.is_transposed = true;
  experts.is_interleaved = true;
  decoder.experts = std::move(experts);
  for (LayerConfig& layer : decoder.layers) layer.has_experts = true;
  return {};
}

extern const Architecture kGptOss;
const Architecture kGptOss = {"gpt_oss", read_gpt_oss_config, decoder_layer};

}  // namespace anemone::models
