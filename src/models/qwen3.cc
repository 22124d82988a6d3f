// SPDX-License-Identifier: Apache-2.0
// Qwen3ForCausalLM: RMS norm on each query and key head before the rotary embedding; head_dim is
// its own number (128 unless the file says otherwise).
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

Result<DecoderConfig> read_qwen3_config(const checkpoint::HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 151936,
                                                       .hidden_size = 4096,
                                                       .intermediate_size = 22016,
                                                       .num_layers = 32,
                                                       .num_heads = 32,
                                                       .num_kv_heads = 32,
                                                       .head_dim = 128,
                                                       .max_position = 32768}));
  decoder.qk_norm = QkNorm::kBeforeRope;
  ANEMONE_RETURN_IF_ERROR(read_attention_bias(config, decoder));
  ANEMONE_RETURN_IF_ERROR(read_qwen_windows(config, decoder));
  return decoder;
}

}  // namespace

extern const Architecture kQwen3;
const Architecture kQwen3 = {"qwen3", read_qwen3_config, decoder_layer};

}  // namespace anemone::models
