// SPDX-License-Identifier: Apache-2.0
// Gemma3ForCausalLM: norms before and after attention and MLP, whose weights lie around 0; scaled
// embeddings; layers with a window and one rotary embedding, and full ones with another.
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"
#include "models/blocks/rope_frequencies.h"

namespace anemone::models {
namespace {

using checkpoint::HfConfig;

// The rope of one kind of layer: its dictionary in rope_parameters, else keys of its own at the top
// (transformers 4), where rope_scaling is about full layers alone.
Result<artifact::Rope> read_gemma3_rope(const HfConfig& config, const DecoderConfig& decoder,
                                        const char* kind, const char* theta_key, double theta,
                                        bool is_full) {
  Json parameters = Json::object();
  if (const Json* all = json_member(config.json(), "rope_parameters")) {
    if (all->is_object() && (all->contains("rope_type") || all->contains("rope_theta")))
      return unsupported("[{}] expected rope_parameters with a dictionary for each kind of layer",
                         config.subject());
    if (const Json* own = json_member(*all, kind)) parameters = *own;
  }
  const Json* scaling = is_full ? json_member(config.json(), "rope_scaling") : nullptr;
  if (scaling != nullptr && scaling->is_object()) {
    // transformers reads a lone "type" here and goes by "default" all the same.
    if (!scaling->contains("rope_type") && !scaling->empty())
      return unsupported("[{}] expected rope_scaling with a rope_type, got {}", config.subject(),
                         dump_json(*scaling));
    parameters.update(*scaling);
  }
  if (parameters.is_object() && !parameters.contains("rope_theta")) {
    ANEMONE_ASSIGN_OR_RETURN(parameters["rope_theta"], config.number(theta_key, theta));
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto settings, rope_of_kind(config, std::move(parameters), theta));
  return rope_frequencies(settings, decoder.head_dim, decoder.max_position);
}

Result<DecoderConfig> read_gemma3_config(const HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 262208,
                                                       .hidden_size = 2304,
                                                       .intermediate_size = 9216,
                                                       .num_layers = 26,
                                                       .num_heads = 8,
                                                       .num_kv_heads = 4,
                                                       .head_dim = 256,
                                                       .null_kv_heads = false,
                                                       .max_position = 131072,
                                                       .activation_key = "hidden_activation",
                                                       .activation = "gelu_pytorch_tanh",
                                                       .has_one_rope = false,
                                                       .tie_word_embeddings = true,
                                                       .bos_id = 2,
                                                       .eos_id = 1}));
  ANEMONE_RETURN_IF_ERROR(check_heads_divide(config, decoder));
  ANEMONE_ASSIGN_OR_RETURN(const bool is_bidirectional,
                           config.boolean("use_bidirectional_attention", false));
  if (is_bidirectional)
    return unsupported("[{}] expected use_bidirectional_attention false, got true",
                       config.subject());
  // The class has the key and no use for it.
  if (config.has("attn_logit_softcapping"))
    return unsupported("[{}] expected attn_logit_softcapping null, got {}", config.subject(),
                       dump_json(config.json()["attn_logit_softcapping"]));
  ANEMONE_ASSIGN_OR_RETURN(const double query_scalar, config.number("query_pre_attn_scalar", 256));
  if (!(query_scalar > 0))
    return parse_error("[{}] expected query_pre_attn_scalar to be positive, got {}",
                       config.subject(), query_scalar);
  decoder.attention_scale = 1 / std::sqrt(query_scalar);
  ANEMONE_RETURN_IF_ERROR(read_logit_softcap(config, decoder));
  decoder.embedding_scale = std::sqrt(static_cast<double>(decoder.hidden_size));
  decoder.norm_offset = 1;
  decoder.qk_norm = QkNorm::kBeforeRope;
  decoder.tensors.attention_output_norm = "post_attention_layernorm";
  decoder.tensors.mlp_input_norm = "pre_feedforward_layernorm";
  decoder.tensors.mlp_output_norm = "post_feedforward_layernorm";
  ANEMONE_RETURN_IF_ERROR(read_attention_bias(config, decoder));

  ANEMONE_ASSIGN_OR_RETURN(
      auto full, read_gemma3_rope(config, decoder, "full_attention", "rope_theta", 1000000, true));
  ANEMONE_ASSIGN_OR_RETURN(auto sliding, read_gemma3_rope(config, decoder, "sliding_attention",
                                                          "rope_local_base_freq", 10000, false));
  sliding.name = "rope_sliding";
  decoder.ropes = {std::move(full), std::move(sliding)};

  std::optional<std::int64_t> window;
  if (!config.is_null("sliding_window")) {
    ANEMONE_ASSIGN_OR_RETURN(window, config.size("sliding_window", 4096));
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto listed, read_sliding_layers(config, decoder.num_layers()));
  std::int64_t pattern = 1;  // without meaning beside a list
  if (!listed) {
    ANEMONE_ASSIGN_OR_RETURN(pattern, config.size("sliding_window_pattern", 6));
  }
  std::vector<bool> slides;
  for (std::size_t i = 0; i < decoder.layers.size(); ++i) {
    slides.push_back(listed ? (*listed)[i] : static_cast<std::int64_t>(i + 1) % pattern != 0);
    decoder.layers[i].rope = slides[i] ? 1 : 0;
  }
  ANEMONE_RETURN_IF_ERROR(set_windows(config, window, slides, decoder));
  return decoder;
}

}  // namespace

extern const Architecture kGemma3;
const Architecture kGemma3 = {"gemma3_text", read_gemma3_config, decoder_layer};

}  // namespace anemone::models
