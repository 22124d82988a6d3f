// SPDX-License-Identifier: Apache-2.0
// Lfm2ForCausalLM (LFM2, LFM2.5): short gated convolutions, and attention in some layers. Older
// files name keys otherwise; their names win, as in the class.
#include "models/lfm2.h"

#include <algorithm>

#include "base/error.h"
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

using checkpoint::HfConfig;

// The width of the MLP: two thirds of the number in the file, stretched and rounded up.
Result<std::int64_t> read_lfm2_width(const HfConfig& config, std::int64_t width) {
  ANEMONE_ASSIGN_OR_RETURN(width, config.size("block_ff_dim", width));
  ANEMONE_ASSIGN_OR_RETURN(const bool adjusts, config.boolean("block_auto_adjust_ff_dim", true));
  if (!adjusts) return width;
  width = static_cast<std::int64_t>(2.0 * static_cast<double>(width) / 3.0);
  ANEMONE_ASSIGN_OR_RETURN(const double factor, config.number("block_ffn_dim_multiplier", 1));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t step, config.size("block_multiple_of", 256));
  const double stretched = factor * static_cast<double>(width);
  if (!(stretched >= 1 && stretched < 1e9))
    return parse_error(
        "[{}] expected block_ffn_dim_multiplier to give a width from 1 to 1e9, got {}",
        config.subject(), factor);
  return (static_cast<std::int64_t>(stretched) + step - 1) / step * step;
}

// Attention everywhere, where neither key says anything.
Status read_lfm2_layers(const HfConfig& config, DecoderConfig& decoder) {
  if (config.has("layer_types")) return read_lfm2_layer_types(config, decoder);
  ANEMONE_ASSIGN_OR_RETURN(const auto attention, config.integers("full_attn_idxs"));
  if (!attention) return {};
  for (std::size_t i = 0; i < decoder.layers.size(); ++i)
    decoder.layers[i].is_short_conv =
        std::ranges::find(*attention, static_cast<std::int64_t>(i)) == attention->end();
  return {};
}

Result<DecoderConfig> read_lfm2_config(const HfConfig& config) {
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder, read_lfm2_common(config, 2560, 12288));
  ANEMONE_ASSIGN_OR_RETURN(decoder.intermediate_size,
                           read_lfm2_width(config, decoder.intermediate_size));
  ANEMONE_RETURN_IF_ERROR(read_lfm2_layers(config, decoder));
  return decoder;
}

}  // namespace

Result<DecoderConfig> read_lfm2_common(const HfConfig& config, std::int64_t hidden_size,
                                       std::int64_t intermediate_size) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 65536,
                                                       .hidden_size = hidden_size,
                                                       .intermediate_size = intermediate_size,
                                                       .num_layers = 32,
                                                       .num_heads = 32,
                                                       .num_kv_heads = 8,
                                                       .null_kv_heads = false,
                                                       .max_position = 128000,
                                                       .rope_theta = 1000000,
                                                       .rms_norm_eps = 1e-5,
                                                       .norm_eps_key = "norm_eps",
                                                       .activation_key = "",
                                                       .tie_word_embeddings = true,
                                                       .bos_id = 1,
                                                       .eos_id = 2}));
  ANEMONE_ASSIGN_OR_RETURN(decoder.tie_word_embeddings,
                           config.boolean("tie_embedding", decoder.tie_word_embeddings));
  ANEMONE_ASSIGN_OR_RETURN(decoder.conv_taps, config.size("conv_L_cache", 3));
  if (decoder.conv_taps < 2 || decoder.conv_taps > 64)
    return unsupported("[{}] expected conv_L_cache from 2 to 64, got {}", config.subject(),
                       decoder.conv_taps);
  ANEMONE_ASSIGN_OR_RETURN(decoder.conv_bias, config.boolean("conv_bias", false));
  decoder.qk_norm = QkNorm::kBeforeRope;
  TensorNames& tensors = decoder.tensors;
  tensors.final_norm = "model.embedding_norm";  // of the last layer's output, whatever its name
  tensors.attention_input_norm = "operator_norm";
  tensors.mlp_input_norm = "ffn_norm";
  tensors.q_norm = "q_layernorm";
  tensors.k_norm = "k_layernorm";
  tensors.attention_output = "out_proj";
  tensors.mlp = "feed_forward.";
  tensors.gate_up = {"w1", "w3"};
  tensors.down = "w2";
  return decoder;
}

Status read_lfm2_layer_types(const HfConfig& config, DecoderConfig& decoder) {
  ANEMONE_ASSIGN_OR_RETURN(
      const auto is_conv, read_layer_kinds(config, decoder.num_layers(), "full_attention", "conv"));
  if (!is_conv) return parse_error("[{}] expected layer_types, got none", config.subject());
  for (std::size_t i = 0; i < is_conv->size(); ++i) decoder.layers[i].is_short_conv = (*is_conv)[i];
  return {};
}

extern const Architecture kLfm2;
const Architecture kLfm2 = {"lfm2", read_lfm2_config, decoder_layer};

}  // namespace anemone::models
