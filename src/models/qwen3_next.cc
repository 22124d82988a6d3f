// SPDX-License-Identifier: Apache-2.0
// Qwen3NextForCausalLM and Qwen3_5ForCausalLM: most layers have a gated delta net, the others
// attention whose output is gated; norms have weights around 0. Qwen3-Next has experts and one that
// every token takes, Qwen3.5 an MLP and its projections in tensors of their own.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

using checkpoint::HfConfig;

Status read_linear_layers(const HfConfig& config, DecoderConfig& decoder) {
  ANEMONE_ASSIGN_OR_RETURN(
      const auto listed,
      read_layer_kinds(config, decoder.num_layers(), "full_attention", "linear_attention"));
  std::int64_t interval = 4;  // without meaning beside a list
  if (!listed) {
    ANEMONE_ASSIGN_OR_RETURN(interval, config.size("full_attention_interval", 4));
  }
  for (std::size_t i = 0; i < decoder.layers.size(); ++i)
    decoder.layers[i].is_delta_net =
        listed ? (*listed)[i] : static_cast<std::int64_t>(i + 1) % interval != 0;
  return {};
}

Status read_delta_net(const HfConfig& config, DecoderConfig& decoder) {
  DeltaNetConfig& out = decoder.delta_net;
  ANEMONE_ASSIGN_OR_RETURN(out.key_heads, config.size("linear_num_key_heads", 16));
  ANEMONE_ASSIGN_OR_RETURN(out.value_heads, config.size("linear_num_value_heads", 32));
  ANEMONE_ASSIGN_OR_RETURN(out.key_dim, config.size("linear_key_head_dim", 128));
  ANEMONE_ASSIGN_OR_RETURN(out.value_dim, config.size("linear_value_head_dim", 128));
  ANEMONE_ASSIGN_OR_RETURN(out.taps, config.size("linear_conv_kernel_dim", 4));
  constexpr std::int64_t kMost = 65536;
  if (out.value_heads % out.key_heads != 0 || out.value_heads > kMost || out.key_dim > kMost ||
      out.value_dim > kMost)
    return parse_error(
        "[{}] expected linear_num_value_heads ({}) to be a multiple of linear_num_key_heads ({}), "
        "and heads of at most {}",
        config.subject(), out.value_heads, out.key_heads, kMost);
  // Only converted files have this key.
  ANEMONE_ASSIGN_OR_RETURN(out.is_tiled, config.boolean("linear_value_heads_are_tiled", false));
  if (out.taps < 2 || out.taps > 64)
    return unsupported("[{}] expected linear_conv_kernel_dim from 2 to 64, got {}",
                       config.subject(), out.taps);
  return {};
}

Result<DecoderConfig> read_linear_config(const HfConfig& given, const ClassDefaults& defaults) {
  Json json = given.json();
  if (!json.contains("partial_rotary_factor")) json["partial_rotary_factor"] = 0.25;
  ANEMONE_ASSIGN_OR_RETURN(const HfConfig config,
                           HfConfig::from_json(std::move(json), given.subject()));
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder, read_common_config(config, defaults));
  decoder.norm_offset = 1;
  decoder.qk_norm = QkNorm::kBeforeRope;
  decoder.has_output_gate = true;
  ANEMONE_RETURN_IF_ERROR(read_attention_bias(config, decoder));
  ANEMONE_RETURN_IF_ERROR(read_linear_layers(config, decoder));
  ANEMONE_RETURN_IF_ERROR(read_delta_net(config, decoder));
  return decoder;
}

Result<DecoderConfig> read_qwen3_next_config(const HfConfig& config) {
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_linear_config(config, {.vocab_size = 151936,
                                                       .hidden_size = 2048,
                                                       .intermediate_size = 5632,
                                                       .num_layers = 48,
                                                       .num_heads = 16,
                                                       .num_kv_heads = 2,
                                                       .head_dim = 256,
                                                       .null_kv_heads = false,
                                                       .max_position = 32768,
                                                       .has_partial_rotary = true}));
  decoder.delta_net.is_interleaved = true;
  ANEMONE_ASSIGN_OR_RETURN(decoder.experts,
                           read_experts(config, {.count = 512, .active = 10, .width = 512}));
  ANEMONE_ASSIGN_OR_RETURN(decoder.experts.is_normalized, config.boolean("norm_topk_prob", true));
  ANEMONE_ASSIGN_OR_RETURN(decoder.experts.shared_width,
                           config.size("shared_expert_intermediate_size", 512));
  decoder.experts.shared = "shared_expert";
  decoder.experts.shared_gate = "shared_expert_gate";
  ANEMONE_RETURN_IF_ERROR(read_sparse_layers(config, decoder));
  return decoder;
}

// The three position axes of its rope are one and the same in a text.
Result<DecoderConfig> read_qwen3_5_config(const HfConfig& config) {
  return read_linear_config(config, {.vocab_size = 248320,
                                     .hidden_size = 4096,
                                     .intermediate_size = 12288,
                                     .num_layers = 32,
                                     .num_heads = 16,
                                     .num_kv_heads = 4,
                                     .head_dim = 256,
                                     .null_kv_heads = false,
                                     .max_position = 32768,
                                     .has_partial_rotary = true});
}

}  // namespace

extern const Architecture kQwen3Next;
const Architecture kQwen3Next = {"qwen3_next", read_qwen3_next_config, decoder_layer};
extern const Architecture kQwen35;
const Architecture kQwen35 = {"qwen3_5_text", read_qwen3_5_config, decoder_layer};

}  // namespace anemone::models
