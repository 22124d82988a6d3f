// SPDX-License-Identifier: Apache-2.0
// Gemma 4: full layers have heads and a rope of their own, and the last layers attend to the keys
// of earlier ones.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/gguf/gguf_layers.h"

namespace anemone::checkpoint::gguf {
namespace {

// Sizes of the heads of all layers, whose kinds are in json["layer_types"].
Status read_gemma4_heads(Keys& keys, const std::vector<bool>& slides, Json& json) {
  const auto layers = static_cast<std::int64_t>(slides.size());
  ANEMONE_ASSIGN_OR_RETURN(json["num_attention_heads"], keys.required_size("attention.head_count"));
  ANEMONE_ASSIGN_OR_RETURN(const auto kv_heads, keys.of_layers("attention.head_count_kv", layers));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t full, keys.required_size("attention.key_length"));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t sliding,
                           keys.required_size("attention.key_length_swa"));
  for (const auto& [name, expected] :
       {std::pair("attention.value_length", full), std::pair("attention.value_length_swa", sliding),
        std::pair("rope.dimension_count", full), std::pair("rope.dimension_count_swa", sliding)}) {
    ANEMONE_ASSIGN_OR_RETURN(const auto given, keys.size(name));
    if (given.value_or(expected) != expected)
      return unsupported("[{}] expected {}{} to be {}, the length of a head, got {}",
                         keys.file().path(), keys.prefix(), name, expected, *given);
  }
  json["head_dim"] = sliding;
  json["num_key_value_heads"] = json["num_attention_heads"];
  json["per_layer_config"] = Json::object();
  for (std::size_t i = 0; i < slides.size(); ++i) {
    Json& own = json["per_layer_config"][std::to_string(i)];
    own["head_dim"] = slides[i] ? sliding : full;
    if (kv_heads) own["num_key_value_heads"] = (*kv_heads)[i];
  }
  return {};
}

// The keys that layers share, the values that are keys, and the widths of MLPs.
Status read_gemma4_sharing(Keys& keys, const std::vector<bool>& slides, Json& json) {
  const auto layers = static_cast<std::int64_t>(slides.size());
  ANEMONE_ASSIGN_OR_RETURN(const auto given, keys.integer("attention.shared_kv_layers"));
  const std::int64_t shared = given.value_or(0);
  if (shared < 0 || shared >= layers)
    return parse_error("[{}] expected {}attention.shared_kv_layers from 0 to {}, got {}",
                       keys.file().path(), keys.prefix(), layers - 1, shared);
  json["num_kv_shared_layers"] = shared;
  json["attention_k_eq_v"] = false;
  for (std::int64_t i = 0; i < layers - shared; ++i)
    if (!slides[static_cast<std::size_t>(i)] &&
        keys.file().find(fmt::format("blk.{}.attn_v.weight", i)) == nullptr)
      json["attention_k_eq_v"] = true;

  ANEMONE_ASSIGN_OR_RETURN(const auto widths, keys.of_layers("feed_forward_length", layers));
  if (!widths || widths->empty())
    return parse_error("[{}] expected a metadata value {}feed_forward_length, got none",
                       keys.file().path(), keys.prefix());
  const std::int64_t width = widths->front();
  json["intermediate_size"] = width;
  const bool is_wide = widths->back() != width;
  json["use_double_wide_mlp"] = is_wide;
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::int64_t expected = is_wide && i >= layers - shared ? 2 * width : width;
    if ((*widths)[static_cast<std::size_t>(i)] != expected)
      return unsupported("[{}] expected {}feed_forward_length of layer {} to be {}, got {}",
                         keys.file().path(), keys.prefix(), i, expected,
                         (*widths)[static_cast<std::size_t>(i)]);
  }
  return {};
}

// Frequencies of full layers that are divided by a huge number do not turn.
Status read_gemma4_ropes(Keys& keys, Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(const double full, keys.required_number("rope.freq_base"));
  ANEMONE_ASSIGN_OR_RETURN(const double sliding, keys.required_number("rope.freq_base_swa"));
  double turning = 1;
  if (const TensorInfo* tensor = keys.file().find("rope_freqs.weight")) {
    ANEMONE_ASSIGN_OR_RETURN(const auto dim, keys.required_size("attention.key_length"));
    ANEMONE_ASSIGN_OR_RETURN(const auto divisors, read_factors(keys.file(), *tensor, dim / 2));
    constexpr float kHuge = 1e29F;
    const auto still = std::ranges::find_if(divisors, [](float d) { return d != 1; });
    if (std::any_of(still, divisors.end(), [](float d) { return d < kHuge; }))
      return unsupported(
          "[{}] expected {} to hold ones, then numbers of at least 1e29, got other numbers",
          keys.file().path(), tensor->name);
    turning = static_cast<double>(still - divisors.begin()) / static_cast<double>(divisors.size());
  }
  json["rope_parameters"] = {
      {"full_attention",
       {{"rope_type", "proportional"}, {"partial_rotary_factor", turning}, {"rope_theta", full}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", sliding}}}};
  return {};
}

}  // namespace

Status read_gemma4_layers(Keys& keys, Json& json) {
  const auto layers = json["num_hidden_layers"].get<std::int64_t>();
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<bool> slides,
                           keys.flags_of_layers("attention.sliding_window_pattern", layers));
  json["layer_types"] = Json::array();
  for (const bool is_sliding : slides)
    json["layer_types"].push_back(is_sliding ? "sliding_attention" : "full_attention");
  ANEMONE_ASSIGN_OR_RETURN(json["sliding_window"], keys.required_size("attention.sliding_window"));
  ANEMONE_RETURN_IF_ERROR(read_gemma4_heads(keys, slides, json));
  ANEMONE_RETURN_IF_ERROR(read_gemma4_sharing(keys, slides, json));
  return read_gemma4_ropes(keys, json);
}

Status read_gemma4(Keys& keys, Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(const auto embedding, keys.integer("embedding_length_per_layer_input"));
  json["hidden_size_per_layer_input"] = embedding.value_or(0);
  json["vocab_size_per_layer_input"] = json["vocab_size"];
  ANEMONE_ASSIGN_OR_RETURN(const auto cap, keys.number("final_logit_softcapping"));
  if (cap) json["final_logit_softcapping"] = *cap;
  ANEMONE_ASSIGN_OR_RETURN(const auto experts, keys.integer("expert_count"));
  if (experts.value_or(0) == 0) return {};
  json["enable_moe_block"] = true;
  json["num_experts"] = *experts;
  ANEMONE_ASSIGN_OR_RETURN(json["top_k_experts"], keys.required_size("expert_used_count"));
  ANEMONE_ASSIGN_OR_RETURN(json["moe_intermediate_size"],
                           keys.required_size("expert_feed_forward_length"));
  return {};
}

}  // namespace anemone::checkpoint::gguf
