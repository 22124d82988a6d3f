// SPDX-License-Identifier: Apache-2.0
// Olmo2ForCausalLM: no norms before attention and MLP but after them, and one norm over the
// channels of all query heads, another over those of all key heads.
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

Result<DecoderConfig> read_olmo2_config(const checkpoint::HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 50304,
                                                       .hidden_size = 4096,
                                                       .intermediate_size = 11008,
                                                       .num_layers = 32,
                                                       .num_heads = 32,
                                                       .max_position = 2048,
                                                       .rms_norm_eps = 1e-5,
                                                       .eos_id = 50279}));
  decoder.qk_norm = QkNorm::kWhole;
  decoder.tensors.attention_input_norm.clear();
  decoder.tensors.attention_output_norm = "post_attention_layernorm";
  decoder.tensors.mlp_input_norm.clear();
  decoder.tensors.mlp_output_norm = "post_feedforward_layernorm";
  ANEMONE_RETURN_IF_ERROR(read_attention_bias(config, decoder));
  return decoder;
}

}  // namespace

extern const Architecture kOlmo2;
const Architecture kOlmo2 = {"olmo2", read_olmo2_config, decoder_layer};

}  // namespace anemone::models
