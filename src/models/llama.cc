// SPDX-License-Identifier: Apache-2.0
// LlamaForCausalLM: Llama 2 and 3.x, SmolLM2, and many others under model_type "llama".
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

Result<DecoderConfig> read_llama_config(const checkpoint::HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 32000,
                                                       .hidden_size = 4096,
                                                       .intermediate_size = 11008,
                                                       .num_layers = 32,
                                                       .num_heads = 32,
                                                       .null_head_dim = true,
                                                       .max_position = 2048,
                                                       .bos_id = 1,
                                                       .eos_id = 2}));
  ANEMONE_RETURN_IF_ERROR(check_heads_divide(config, decoder));
  ANEMONE_ASSIGN_OR_RETURN(decoder.mlp_bias, config.boolean("mlp_bias", false));
  ANEMONE_RETURN_IF_ERROR(read_attention_bias(config, decoder));
  return decoder;
}

}  // namespace

extern const Architecture kLlama;
const Architecture kLlama = {"llama", read_llama_config, decoder_layer};

}  // namespace anemone::models
