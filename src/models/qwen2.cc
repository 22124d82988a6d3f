// SPDX-License-Identifier: Apache-2.0
// Qwen2ForCausalLM (Qwen2, Qwen2.5): biases on q, k and v; optional sliding window on the upper
// layers.
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

Result<DecoderConfig> read_qwen2_config(const checkpoint::HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 151936,
                                                       .hidden_size = 4096,
                                                       .intermediate_size = 22016,
                                                       .num_layers = 32,
                                                       .num_heads = 32,
                                                       .num_kv_heads = 32,
                                                       .max_position = 32768}));
  decoder.qkv_bias = true;
  ANEMONE_RETURN_IF_ERROR(read_qwen_windows(config, decoder));
  return decoder;
}

}  // namespace

extern const Architecture kQwen2;
const Architecture kQwen2 = {"qwen2", read_qwen2_config, decoder_layer};

}  // namespace anemone::models
