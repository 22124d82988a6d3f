// SPDX-License-Identifier: Apache-2.0
// MistralForCausalLM: Llama without biases, with a sliding window on every layer unless it is null.
// A file with `layer_types` is a Ministral one, as transformers reads it: those layers slide.
#include <optional>
#include <vector>

#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

Result<DecoderConfig> read_mistral_config(const checkpoint::HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 32000,
                                                       .hidden_size = 4096,
                                                       .intermediate_size = 14336,
                                                       .num_layers = 32,
                                                       .num_heads = 32,
                                                       .num_kv_heads = 8,
                                                       .null_kv_heads = false,
                                                       .null_head_dim = true,
                                                       .max_position = 131072,
                                                       .bos_id = 1,
                                                       .eos_id = 2}));
  std::optional<std::int64_t> window;
  if (!config.is_null("sliding_window")) {
    ANEMONE_ASSIGN_OR_RETURN(window, config.size("sliding_window", 4096));
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto listed, read_sliding_layers(config, decoder.num_layers()));
  const std::vector<bool> all(decoder.layers.size(), window.has_value());
  ANEMONE_RETURN_IF_ERROR(set_windows(config, window, listed.value_or(all), decoder));
  return decoder;
}

}  // namespace

extern const Architecture kMistral;
const Architecture kMistral = {"mistral", read_mistral_config, decoder_layer};

}  // namespace anemone::models
