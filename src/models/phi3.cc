// SPDX-License-Identifier: Apache-2.0
// Phi3ForCausalLM (Phi-3, Phi-3.5, Phi-4-mini): q, k, v and gate, up in one tensor each, and a
// rotary embedding over a part of the head, with factors for short texts and others for long ones.
// The class has no biases, even where the config names some.
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

Status adjust_phi3_rope(const checkpoint::HfConfig& config, std::int64_t /*dim*/,
                        checkpoint::RopeSettings& settings) {
  if (settings.type == "su" || settings.type == "yarn") settings.type = "longrope";
  if (settings.type != "default" && settings.type != "longrope")
    return unsupported("[{}] expected rope_type of phi3 to be default or longrope, got \"{}\"",
                       config.subject(), settings.type);
  // The key beside the dictionary wins over the one inside, even by its default.
  ANEMONE_ASSIGN_OR_RETURN((*settings.parameters)["original_max_position_embeddings"],
                           config.size("original_max_position_embeddings", 4096));
  return {};
}

Result<DecoderConfig> read_phi3_config(const checkpoint::HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 32064,
                                                       .hidden_size = 3072,
                                                       .intermediate_size = 8192,
                                                       .num_layers = 32,
                                                       .num_heads = 32,
                                                       .max_position = 4096,
                                                       .rms_norm_eps = 1e-5,
                                                       .has_partial_rotary = true,
                                                       .adjust_rope = adjust_phi3_rope,
                                                       .bos_id = 1,
                                                       .eos_id = 32000}));
  decoder.tensors.qkv = {"qkv_proj"};
  decoder.tensors.gate_up = {"gate_up_proj"};
  ANEMONE_ASSIGN_OR_RETURN(const auto window, config.optional_integer("sliding_window"));
  if (window && *window < 1)
    return parse_error("[{}] expected sliding_window of at least 1, got {}", config.subject(),
                       *window);
  const std::vector<bool> slides(decoder.layers.size(), window.has_value());
  ANEMONE_RETURN_IF_ERROR(set_windows(config, window, slides, decoder));
  return decoder;
}

}  // namespace

extern const Architecture kPhi3;
const Architecture kPhi3 = {"phi3", read_phi3_config, decoder_layer};

}  // namespace anemone::models
