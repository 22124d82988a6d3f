// SPDX-License-Identifier: Apache-2.0
// GraniteForCausalLM (Granite 3): Llama with constant factors on the embeddings, on the attention
// scores, on what attention and MLP add to the residual, and on the logits.
#include <cmath>

#include "base/error.h"
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

Result<double> read_granite_factor(const checkpoint::HfConfig& config, std::string_view key) {
  ANEMONE_ASSIGN_OR_RETURN(const double factor, config.number(key, 1));
  if (factor != 0 && std::isfinite(factor)) return factor;
  return parse_error("[{}] expected {} to be finite and not 0, got {}", config.subject(), key,
                     factor);
}

Result<DecoderConfig> read_granite_config(const checkpoint::HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 32000,
                                                       .hidden_size = 4096,
                                                       .intermediate_size = 11008,
                                                       .num_layers = 32,
                                                       .num_heads = 32,
                                                       .max_position = 2048,
                                                       .bos_id = 1,
                                                       .eos_id = 2}));
  ANEMONE_ASSIGN_OR_RETURN(decoder.embedding_scale,
                           read_granite_factor(config, "embedding_multiplier"));
  ANEMONE_ASSIGN_OR_RETURN(decoder.attention_scale,
                           read_granite_factor(config, "attention_multiplier"));
  ANEMONE_ASSIGN_OR_RETURN(decoder.residual_scale,
                           read_granite_factor(config, "residual_multiplier"));
  ANEMONE_ASSIGN_OR_RETURN(const double divisor, read_granite_factor(config, "logits_scaling"));
  decoder.logit_scale = 1 / divisor;
  ANEMONE_ASSIGN_OR_RETURN(decoder.mlp_bias, config.boolean("mlp_bias", false));
  ANEMONE_RETURN_IF_ERROR(read_attention_bias(config, decoder));
  return decoder;
}

}  // namespace

extern const Architecture kGranite;
const Architecture kGranite = {"granite", read_granite_config, decoder_layer};

}  // namespace anemone::models
