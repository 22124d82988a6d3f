// SPDX-License-Identifier: Apache-2.0
// Qwen3MoeForCausalLM: Qwen3 with experts in the place of the MLP, in all layers or in some. All
// layers slide or none.
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

Result<DecoderConfig> read_qwen3_moe_config(const checkpoint::HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 151936,
                                                       .hidden_size = 2048,
                                                       .intermediate_size = 6144,
                                                       .num_layers = 24,
                                                       .num_heads = 32,
                                                       .num_kv_heads = 4,
                                                       .null_kv_heads = false,
                                                       .max_position = 32768}));
  decoder.qk_norm = QkNorm::kBeforeRope;
  ANEMONE_RETURN_IF_ERROR(read_attention_bias(config, decoder));
  ANEMONE_ASSIGN_OR_RETURN(const bool slides, config.boolean("use_sliding_window", false));
  if (slides && !config.is_null("sliding_window")) {
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t window, config.size("sliding_window", 4096));
    for (LayerConfig& layer : decoder.layers) layer.window = window;
  }
  // The newer name wins, as the class stores both in one place.
  const std::string_view count_key =
      config.has("num_local_experts") ? "num_local_experts" : "num_experts";
  ANEMONE_ASSIGN_OR_RETURN(
      decoder.experts,
      read_experts(config, {.count_key = count_key, .count = 128, .active = 8, .width = 768}));
  ANEMONE_ASSIGN_OR_RETURN(decoder.experts.is_normalized, config.boolean("norm_topk_prob", false));
  ANEMONE_RETURN_IF_ERROR(read_sparse_layers(config, decoder));
  return decoder;
}

}  // namespace

extern const Architecture kQwen3Moe;
const Architecture kQwen3Moe = {"qwen3_moe", read_qwen3_moe_config, decoder_layer};

}  // namespace anemone::models
