// SPDX-License-Identifier: Apache-2.0
// MistralForCausalLM: Llama without biases, with a sliding window on every layer unless it is null.
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

Result<DecoderConfig> read_config(const checkpoint::HfConfig& config) {
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 32000,
                                                       .hidden_size = 4096,
                                                       .intermediate_size = 14336,
                                                       .num_layers = 32,
                                                       .num_heads = 32,
                                                       .num_kv_heads = 8,
                                                       .max_position = 131072,
                                                       .bos_id = 1,
                                                       .eos_id = 2}));
  if (!config.is_null("sliding_window")) {
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t window, config.size("sliding_window", 4096));
    for (LayerConfig& layer : decoder.layers) layer.window = window;
  }
  return decoder;
}

}  // namespace

extern const Architecture kMistral;
const Architecture kMistral = {"mistral", read_config, pre_norm_layer};

}  // namespace anemone::models
