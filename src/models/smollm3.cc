// SPDX-License-Identifier: Apache-2.0
// SmolLM3ForCausalLM: no rotary embedding on the layers that no_rope_layers marks with 0 (by
// default every fourth); those layers slide when use_sliding_window is on.
#include <vector>

#include "base/error.h"
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

Result<DecoderConfig> read_smollm3_config(const checkpoint::HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 128256,
                                                       .hidden_size = 2048,
                                                       .intermediate_size = 11008,
                                                       .num_layers = 36,
                                                       .num_heads = 16,
                                                       .num_kv_heads = 4,
                                                       .max_position = 32768,
                                                       .rope_theta = 2000000,
                                                       .tie_word_embeddings = true,
                                                       .bos_id = 128000,
                                                       .eos_id = 128001}));
  ANEMONE_ASSIGN_OR_RETURN(decoder.mlp_bias, config.boolean("mlp_bias", false));
  ANEMONE_RETURN_IF_ERROR(read_attention_bias(config, decoder));

  ANEMONE_ASSIGN_OR_RETURN(const auto pattern, config.integers("no_rope_layers"));
  if (pattern && pattern->size() < decoder.layers.size())
    return parse_error("[{}] expected at least {} no_rope_layers, got {}", config.subject(),
                       decoder.layers.size(), pattern->size());
  std::int64_t interval = 0;  // without meaning beside a list
  if (!pattern) {
    ANEMONE_ASSIGN_OR_RETURN(interval, config.size("no_rope_layer_interval", 4));
  }
  ANEMONE_ASSIGN_OR_RETURN(const bool use_window, config.boolean("use_sliding_window", false));
  ANEMONE_ASSIGN_OR_RETURN(const auto window, config.optional_integer("sliding_window"));
  if (window && *window < 1)
    return parse_error("[{}] expected sliding_window of at least 1, got {}", config.subject(),
                       *window);
  ANEMONE_ASSIGN_OR_RETURN(const auto sliding, read_sliding_layers(config, decoder.num_layers()));
  std::vector<bool> slides;
  for (std::size_t i = 0; i < decoder.layers.size(); ++i) {
    LayerConfig& layer = decoder.layers[i];
    layer.has_rope =
        pattern ? (*pattern)[i] != 0 : static_cast<std::int64_t>(i + 1) % interval != 0;
    // The class masks by layer_types whatever use_sliding_window says; the switch only fills the
    // default.
    slides.push_back(sliding ? (*sliding)[i] : use_window && window.has_value() && !layer.has_rope);
  }
  ANEMONE_RETURN_IF_ERROR(set_windows(config, window, slides, decoder));
  return decoder;
}

}  // namespace

extern const Architecture kSmolLm3;
const Architecture kSmolLm3 = {"smollm3", read_smollm3_config, decoder_layer};

}  // namespace anemone::models
