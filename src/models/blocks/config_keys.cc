// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/config_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "models/blocks/rope_frequencies.h"

namespace anemone::models {
namespace {

using checkpoint::HfConfig;

constexpr std::int64_t kMaxLayers = 4096;
// Each is compared with every other, for each token.
constexpr std::int64_t kMaxExperts = 1024;
// Far beyond any model; keeps the frequency table of a hostile file small.
constexpr std::int64_t kMaxHeadDim = 65536;

Result<Activation> read_activation(const HfConfig& config, const ClassDefaults& defaults) {
  const std::string_view key = defaults.activation_key;
  std::string name(defaults.activation);
  if (!key.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(name, config.text(key, defaults.activation));
  }
  // transformers has several programs for one and the same function.
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "gelu" || name == "gelu_python") return Activation::kGelu;
  if (name == "gelu_pytorch_tanh" || name == "gelu_python_tanh" || name == "gelu_new" ||
      name == "gelu_fast" || name == "gelu_accurate")
    return Activation::kGeluTanh;
  if (name == "relu") return Activation::kRelu;
  return unsupported("[{}] expected {} to be silu, gelu, gelu_pytorch_tanh or relu, got \"{}\"",
                     config.subject(), key, name);
}

// A size that may be absent (class default) or, for some classes, null (`if_null`).
Result<std::int64_t> nullable_size(const HfConfig& config, std::string_view key,
                                   std::optional<std::int64_t> class_default, bool may_be_null,
                                   std::int64_t if_null) {
  if (may_be_null && config.is_null(key)) return if_null;
  return config.size(key, class_default.value_or(if_null));
}

}  // namespace

Result<DecoderConfig> read_common_config(const HfConfig& config, const ClassDefaults& defaults) {
  DecoderConfig out;
  ANEMONE_ASSIGN_OR_RETURN(out.vocab_size, config.size("vocab_size", defaults.vocab_size));
  ANEMONE_ASSIGN_OR_RETURN(out.hidden_size, config.size("hidden_size", defaults.hidden_size));
  ANEMONE_ASSIGN_OR_RETURN(out.intermediate_size,
                           config.size("intermediate_size", defaults.intermediate_size));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t layers,
                           config.size("num_hidden_layers", defaults.num_layers));
  if (layers > kMaxLayers)
    return parse_error("[{}] expected at most {} layers, got {}", config.subject(), kMaxLayers,
                       layers);
  out.layers.resize(static_cast<std::size_t>(layers));
  ANEMONE_ASSIGN_OR_RETURN(out.num_heads, config.size("num_attention_heads", defaults.num_heads));
  ANEMONE_ASSIGN_OR_RETURN(out.num_kv_heads,
                           nullable_size(config, "num_key_value_heads", defaults.num_kv_heads,
                                         defaults.null_kv_heads, out.num_heads));
  ANEMONE_ASSIGN_OR_RETURN(
      out.head_dim, nullable_size(config, "head_dim", defaults.head_dim, defaults.null_head_dim,
                                  out.hidden_size / out.num_heads));
  ANEMONE_ASSIGN_OR_RETURN(out.max_position,
                           config.size("max_position_embeddings", defaults.max_position));
  ANEMONE_ASSIGN_OR_RETURN(out.rms_norm_eps,
                           config.number(defaults.norm_eps_key, defaults.rms_norm_eps));
  ANEMONE_ASSIGN_OR_RETURN(out.activation, read_activation(config, defaults));
  ANEMONE_ASSIGN_OR_RETURN(out.tie_word_embeddings,
                           config.boolean("tie_word_embeddings", defaults.tie_word_embeddings));

  if (out.num_heads % out.num_kv_heads != 0)
    return parse_error(
        "[{}] expected num_attention_heads ({}) to be a multiple of num_key_value_heads ({})",
        config.subject(), out.num_heads, out.num_kv_heads);
  if (out.head_dim < 2 || out.head_dim % 2 != 0 || out.head_dim > kMaxHeadDim)
    return parse_error("[{}] expected an even head_dim from 2 to {}, got {}", config.subject(),
                       kMaxHeadDim, out.head_dim);
  if (!(out.rms_norm_eps >= 0))
    return parse_error("[{}] expected {} of at least 0, got {}", config.subject(),
                       defaults.norm_eps_key, out.rms_norm_eps);

  ANEMONE_ASSIGN_OR_RETURN(out.eos_ids, config.token_ids("eos_token_id"));
  if (out.eos_ids.empty() && defaults.eos_id && !config.is_null("eos_token_id"))
    out.eos_ids.push_back(*defaults.eos_id);
  ANEMONE_ASSIGN_OR_RETURN(out.bos_id, config.optional_integer("bos_token_id"));
  if (!out.bos_id && !config.is_null("bos_token_id")) out.bos_id = defaults.bos_id;

  if (!defaults.has_one_rope) return out;
  ANEMONE_ASSIGN_OR_RETURN(auto settings, config.rope(defaults.rope_theta));
  std::int64_t rotary_dim = out.head_dim;
  if (defaults.has_partial_rotary) {
    rotary_dim = static_cast<std::int64_t>(static_cast<double>(out.head_dim) *
                                           std::exchange(settings.partial_rotary_factor, 1.0));
    if (rotary_dim < 2 || rotary_dim % 2 != 0)
      return parse_error(
          "[{}] expected partial_rotary_factor to leave an even number of at least 2 dimensions of "
          "{}, got {}",
          config.subject(), out.head_dim, rotary_dim);
  }
  if (defaults.adjust_rope != nullptr)
    ANEMONE_RETURN_IF_ERROR(defaults.adjust_rope(config, rotary_dim, settings));
  ANEMONE_ASSIGN_OR_RETURN(artifact::Rope rope,
                           rope_frequencies(settings, rotary_dim, out.max_position));
  out.ropes.push_back(std::move(rope));
  return out;
}

Status check_heads_divide(const HfConfig& config, const DecoderConfig& decoder) {
  if (decoder.hidden_size % decoder.num_heads == 0) return {};
  return parse_error("[{}] expected hidden_size ({}) to be a multiple of num_attention_heads ({})",
                     config.subject(), decoder.hidden_size, decoder.num_heads);
}

Result<std::optional<std::vector<bool>>> read_layer_kinds(const HfConfig& config,
                                                          std::int64_t num_layers,
                                                          std::string_view usual,
                                                          std::string_view special) {
  ANEMONE_ASSIGN_OR_RETURN(const auto types, config.texts("layer_types"));
  if (!types) return std::optional<std::vector<bool>>();
  if (static_cast<std::int64_t>(types->size()) != num_layers)
    return parse_error("[{}] expected {} layer_types, got {}", config.subject(), num_layers,
                       types->size());
  std::vector<bool> is_special;
  for (const std::string& type : *types) {
    const bool is_older_name = type == "attention" && usual == "full_attention";
    if (type != usual && type != special && !is_older_name)
      return unsupported("[{}] expected layer_types of {} and {}, got \"{}\"", config.subject(),
                         usual, special, type);
    is_special.push_back(type == special);
  }
  return std::optional(std::move(is_special));
}

Result<std::optional<std::vector<bool>>> read_sliding_layers(const HfConfig& config,
                                                             std::int64_t num_layers) {
  return read_layer_kinds(config, num_layers, "full_attention", "sliding_attention");
}

Result<checkpoint::RopeSettings> rope_of_kind(const HfConfig& config, Json parameters,
                                              double theta) {
  ANEMONE_ASSIGN_OR_RETURN(const HfConfig one,
                           HfConfig::from_json({{"model_type", config.model_type()},
                                                {"rope_parameters", std::move(parameters)}},
                                               config.subject()));
  return one.rope(theta);
}

Status read_logit_softcap(const HfConfig& config, DecoderConfig& decoder) {
  if (!config.has("final_logit_softcapping")) return {};
  ANEMONE_ASSIGN_OR_RETURN(decoder.logit_softcap, config.number("final_logit_softcapping", 0));
  if (decoder.logit_softcap > 0) return {};
  return parse_error("[{}] expected final_logit_softcapping to be positive, got {}",
                     config.subject(), decoder.logit_softcap);
}

Status set_windows(const HfConfig& config, std::optional<std::int64_t> window,
                   const std::vector<bool>& slides, DecoderConfig& decoder) {
  for (std::size_t i = 0; i < decoder.layers.size(); ++i) {
    if (!slides[i]) continue;
    if (!window)
      return parse_error("[{}] expected a sliding_window for layer {}, which slides, got none",
                         config.subject(), i);
    decoder.layers[i].window = *window;
  }
  return {};
}

Status read_attention_bias(const checkpoint::HfConfig& config, DecoderConfig& decoder) {
  ANEMONE_ASSIGN_OR_RETURN(const bool has_bias, config.boolean("attention_bias", false));
  decoder.qkv_bias = decoder.output_bias = has_bias;
  return {};
}

Result<ExpertsConfig> read_experts(const HfConfig& config, const ExpertsDefaults& defaults) {
  ExpertsConfig out;
  ANEMONE_ASSIGN_OR_RETURN(out.count, config.size(defaults.count_key, defaults.count));
  ANEMONE_ASSIGN_OR_RETURN(out.active, config.size(defaults.active_key, defaults.active));
  ANEMONE_ASSIGN_OR_RETURN(out.width, config.size(defaults.width_key, defaults.width));
  if (out.count > kMaxExperts)
    return unsupported("[{}] expected at most {} experts, got {}", config.subject(), kMaxExperts,
                       out.count);
  if (out.active > out.count)
    return parse_error("[{}] expected {} of at most {} ({}), got {}", config.subject(),
                       defaults.active_key, out.count, defaults.count_key, out.active);
  return out;
}

Status read_sparse_layers(const HfConfig& config, DecoderConfig& decoder) {
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t step, config.size("decoder_sparse_step", 1));
  ANEMONE_ASSIGN_OR_RETURN(const auto dense, config.integers("mlp_only_layers"));
  for (std::int64_t i = 0; i < decoder.num_layers(); ++i)
    decoder.layers[static_cast<std::size_t>(i)].has_experts =
        (i + 1) % step == 0 && !(dense && std::ranges::find(*dense, i) != dense->end());
  return {};
}

Status read_qwen_windows(const HfConfig& config, DecoderConfig& decoder) {
  ANEMONE_ASSIGN_OR_RETURN(const bool use, config.boolean("use_sliding_window", false));
  std::optional<std::int64_t> window;
  if (use && !config.is_null("sliding_window")) {
    ANEMONE_ASSIGN_OR_RETURN(window, config.size("sliding_window", 4096));
  }
  ANEMONE_RETURN_IF_ERROR(config.refuse_null("max_window_layers"));
  ANEMONE_ASSIGN_OR_RETURN(const auto first, config.optional_integer("max_window_layers"));
  ANEMONE_ASSIGN_OR_RETURN(const auto listed, read_sliding_layers(config, decoder.num_layers()));
  std::vector<bool> slides;
  for (std::int64_t i = 0; i < decoder.num_layers(); ++i)
    slides.push_back(listed ? (*listed)[static_cast<std::size_t>(i)]
                            : window.has_value() && i >= first.value_or(28));
  return set_windows(config, window, slides, decoder);
}

}  // namespace anemone::models
