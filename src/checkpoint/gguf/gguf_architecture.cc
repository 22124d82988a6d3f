// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_architecture.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/gguf/gguf_layers.h"

namespace anemone::checkpoint::gguf {
namespace {

// Llama with a window on every layer is Mistral.
Status read_llama(Keys& keys, Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(const auto window, keys.integer("attention.sliding_window"));
  if (window.value_or(0) <= 0) return {};
  json["model_type"] = "mistral";
  json["sliding_window"] = *window;
  return {};
}

// Factors for short texts and for long ones lie in tensors; the multiplier is that of the class.
Status read_phi3(Keys& keys, Json& json) {
  const GgufFile& file = keys.file();
  ANEMONE_ASSIGN_OR_RETURN(const auto window, keys.integer("attention.sliding_window"));
  if (window.value_or(0) > 0) json["sliding_window"] = *window;
  ANEMONE_ASSIGN_OR_RETURN(const auto attention, keys.number("rope.scaling.attn_factor"));
  ANEMONE_ASSIGN_OR_RETURN(const auto original,
                           keys.integer("rope.scaling.original_context_length"));
  const TensorInfo* short_factors = file.find("rope_factors_short.weight");
  const TensorInfo* long_factors = file.find("rope_factors_long.weight");
  if (short_factors == nullptr && long_factors == nullptr) return {};
  if (short_factors == nullptr || long_factors == nullptr || !original)
    return parse_error(
        "[{}] expected rope_factors_short, rope_factors_long and "
        "phi3.rope.scaling.original_context_length together",
        file.path());
  ANEMONE_ASSIGN_OR_RETURN(const auto dim, keys.size("rope.dimension_count"));
  const std::int64_t count = dim.value_or(json["head_dim"].get<std::int64_t>()) / 2;
  Json scaling = {{"rope_type", "longrope"}};
  ANEMONE_ASSIGN_OR_RETURN(scaling["short_factor"], read_factors(file, *short_factors, count));
  ANEMONE_ASSIGN_OR_RETURN(scaling["long_factor"], read_factors(file, *long_factors, count));
  if (attention) scaling["attention_factor"] = *attention;
  json["rope_scaling"] = std::move(scaling);
  json["original_max_position_embeddings"] = *original;
  return {};
}

// rope.freq_base is the stretched one already.
Status read_hunyuan(Keys& keys, Json& /*json*/) {
  keys.ignore("rope.scaling.alpha");
  return {};
}

Status read_gemma3(Keys& keys, Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(json["sliding_window"], keys.required_size("attention.sliding_window"));
  ANEMONE_ASSIGN_OR_RETURN(const auto pattern, keys.integer("attention.sliding_window_pattern"));
  if (pattern) json["sliding_window_pattern"] = *pattern;
  ANEMONE_ASSIGN_OR_RETURN(const auto local, keys.number("rope.freq_base_swa"));
  if (local) json["rope_local_base_freq"] = *local;
  ANEMONE_ASSIGN_OR_RETURN(const auto cap, keys.number("final_logit_softcapping"));
  if (cap) json["final_logit_softcapping"] = *cap;
  // query_pre_attn_scalar has no key in the format. Only the size with 62 layers scales scores by
  // hidden_size / heads.
  const bool is_27b = json["num_hidden_layers"] == 62;
  json["query_pre_attn_scalar"] =
      is_27b ? json["hidden_size"].get<std::int64_t>() / json["num_attention_heads"].get<int>()
             : json["head_dim"].get<std::int64_t>();
  return {};
}

Status read_lfm2_layers(Keys& keys, Json& json) {
  const auto layers = json["num_hidden_layers"].get<std::int64_t>();
  ANEMONE_ASSIGN_OR_RETURN(const auto heads, keys.of_layers("attention.head_count_kv", layers));
  if (!heads)
    return parse_error("[{}] expected a metadata value {}attention.head_count_kv, got none",
                       keys.file().path(), keys.prefix());
  json["layer_types"] = Json::array();
  for (const std::int64_t count : *heads)
    json["layer_types"].push_back(count == 0 ? "conv" : "full_attention");
  return {};
}

Status read_lfm2(Keys& keys, Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(json["conv_L_cache"], keys.required_size("shortconv.l_cache"));
  json["norm_eps"] = json["rms_norm_eps"];
  json["block_auto_adjust_ff_dim"] = false;  // the width is that of the tensors
  json["conv_bias"] = keys.file().find("blk.0.shortconv.conv.bias") != nullptr;
  return {};
}

Status read_granite(Keys& keys, Json& json) {
  constexpr std::pair<const char*, const char*> kFactors[] = {
      {"embedding_scale", "embedding_multiplier"},
      {"attention.scale", "attention_multiplier"},
      {"residual_scale", "residual_multiplier"},
      {"logit_scale", "logits_scaling"},
  };
  for (const auto& [name, as] : kFactors) {
    ANEMONE_ASSIGN_OR_RETURN(json[as], keys.required_number(name));
  }
  return {};
}

// `function`: the number that the format has for how this class makes scores.
Status read_experts(Keys& keys, std::int64_t function, Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(json["num_experts"], keys.required_size("expert_count"));
  ANEMONE_ASSIGN_OR_RETURN(json["num_experts_per_tok"], keys.required_size("expert_used_count"));
  ANEMONE_ASSIGN_OR_RETURN(json["moe_intermediate_size"],
                           keys.required_size("expert_feed_forward_length"));
  ANEMONE_ASSIGN_OR_RETURN(const auto normalizes, keys.boolean("expert_weights_norm"));
  json["norm_topk_prob"] = normalizes.value_or(true);
  ANEMONE_ASSIGN_OR_RETURN(const auto gating, keys.integer("expert_gating_func"));
  if (gating.value_or(function) != function)
    return unsupported("[{}] expected {}expert_gating_func to be {}, got {}", keys.file().path(),
                       keys.prefix(), function, *gating);
  return {};
}

Status read_qwen3_moe(Keys& keys, Json& json) {
  ANEMONE_RETURN_IF_ERROR(read_experts(keys, 1, json));
  // Layers without a router have an MLP.
  json["mlp_only_layers"] = Json::array();
  for (std::int64_t i = 0; i < json["num_hidden_layers"].get<std::int64_t>(); ++i)
    if (keys.file().find(fmt::format("blk.{}.ffn_gate_inp.weight", i)) == nullptr)
      json["mlp_only_layers"].push_back(i);
  return {};
}

Status read_qwen3_next(Keys& keys, Json& json) {
  ANEMONE_RETURN_IF_ERROR(read_experts(keys, 1, json));
  ANEMONE_ASSIGN_OR_RETURN(json["shared_expert_intermediate_size"],
                           keys.required_size("expert_shared_feed_forward_length"));
  return {};
}

Status read_lfm2_moe(Keys& keys, Json& json) {
  ANEMONE_RETURN_IF_ERROR(read_lfm2(keys, json));
  ANEMONE_RETURN_IF_ERROR(read_experts(keys, 2, json));
  ANEMONE_ASSIGN_OR_RETURN(json["num_dense_layers"],
                           keys.required_size("leading_dense_block_count"));
  ANEMONE_ASSIGN_OR_RETURN(const auto scale, keys.number("expert_weights_scale"));
  json["routed_scaling_factor"] = scale.value_or(1);
  return {};
}

// Reads the keys that gpt-oss and the privacy filter share: all but the width of experts. The
// activation's limit has no key in the format: it is that of the transformers class.
Status read_gpt_oss_layers(Keys& keys, Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(json["sliding_window"], keys.required_size("attention.sliding_window"));
  ANEMONE_ASSIGN_OR_RETURN(json["num_local_experts"], keys.required_size("expert_count"));
  ANEMONE_ASSIGN_OR_RETURN(json["num_experts_per_tok"], keys.required_size("expert_used_count"));
  // The corners of yarn's ramp are not whole numbers here.
  if (json.contains("rope_scaling")) json["rope_scaling"]["truncate"] = false;
  return {};
}

// Every second layer slides, as in the class.
Status read_gpt_oss(Keys& keys, Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(json["intermediate_size"],
                           keys.required_size("expert_feed_forward_length"));
  return read_gpt_oss_layers(keys, json);
}

// Reads a bidirectional model with a head for labels, as privacy-filter.cpp and LocalAI write it.
Status read_privacy_filter(Keys& keys, Json& json) {
  ANEMONE_RETURN_IF_ERROR(read_gpt_oss_layers(keys, json));
  ANEMONE_ASSIGN_OR_RETURN(const auto width, keys.size("expert_feed_forward_length"));
  if (width) json["intermediate_size"] = *width;
  const GgufFile& file = keys.file();
  ANEMONE_ASSIGN_OR_RETURN(const auto is_causal, keys.boolean("attention.causal"));
  if (is_causal.value_or(false))
    return unsupported("[{}] expected {}attention.causal to be false, got true", file.path(),
                       keys.prefix());
  ANEMONE_ASSIGN_OR_RETURN(const auto truncates, keys.boolean("rope.scaling.yarn_truncate"));
  if (truncates && json.contains("rope_scaling")) json["rope_scaling"]["truncate"] = *truncates;
  json["tie_word_embeddings"] = false;
  for (const char* name : {"pooling_type", "embedding_length_out"}) keys.ignore(name);
  ANEMONE_ASSIGN_OR_RETURN(const auto labels, keys.texts("classifier.output_labels"));
  if (!labels) return {};
  json["id2label"] = Json::object();
  for (std::size_t i = 0; i < labels->size(); ++i)
    json["id2label"][std::to_string(i)] = (*labels)[i];
  return {};
}

constexpr NamePair kPhi3Names[] = {{"attn_qkv", "self_attn.qkv_proj"},
                                   {"ffn_up", "mlp.gate_up_proj"}};
constexpr NamePair kHunyuanNames[] = {{"attn_q_norm", "self_attn.query_layernorm"},
                                      {"attn_k_norm", "self_attn.key_layernorm"}};
constexpr NamePair kGemma3Names[] = {{"post_attention_norm", "post_attention_layernorm"},
                                     {"ffn_norm", "pre_feedforward_layernorm"},
                                     {"post_ffw_norm", "post_feedforward_layernorm"}};
constexpr NamePair kGemma4Names[] = {{"per_layer_token_embd", "model.embed_tokens_per_layer"},
                                     {"per_layer_model_proj", "model.per_layer_model_projection"},
                                     {"per_layer_proj_norm", "model.per_layer_projection_norm"},
                                     {"post_attention_norm", "post_attention_layernorm"},
                                     {"ffn_norm", "pre_feedforward_layernorm"},
                                     {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
                                     {"post_ffw_norm", "post_feedforward_layernorm"},
                                     {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
                                     {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
                                     {"ffn_gate_inp", "router.proj"},
                                     {"ffn_gate_inp.scale", "router.scale"},
                                     {"ffn_gate_up_exps", "experts.gate_up_proj", true},
                                     {"ffn_down_exps", "experts.down_proj", true},
                                     {"ffn_down_exps.scale", "router.per_expert_scale"},
                                     {"inp_gate", "per_layer_input_gate"},
                                     {"proj", "per_layer_projection"},
                                     {"post_norm", "post_per_layer_input_norm"},
                                     {"layer_output_scale", "layer_scalar", true}};
constexpr NamePair kOlmo2Names[] = {{"post_attention_norm", "post_attention_layernorm"},
                                    {"post_ffw_norm", "post_feedforward_layernorm"}};
constexpr NamePair kPrivacyFilterNames[] = {{"cls.output", "score"},
                                            {"post_attention_norm", "post_attention_layernorm"},
                                            {"attn_sinks", "self_attn.sinks", true},
                                            {"ffn_gate_inp", "mlp.router"},
                                            {"ffn_gate_exps", "mlp.experts.{}.gate_proj"},
                                            {"ffn_up_exps", "mlp.experts.{}.up_proj"},
                                            {"ffn_down_exps", "mlp.experts.{}.down_proj"}};
// The names of the privacy filter without its first, the head for labels.
constexpr std::span<const NamePair> kGptOssNames = std::span(kPrivacyFilterNames).subspan(1);
constexpr NamePair kQwen3MoeNames[] = {{"ffn_gate_inp", "mlp.gate"},
                                       {"ffn_gate_exps", "mlp.experts.{}.gate_proj"},
                                       {"ffn_up_exps", "mlp.experts.{}.up_proj"},
                                       {"ffn_down_exps", "mlp.experts.{}.down_proj"}};
constexpr NamePair kQwen3NextNames[] = {{"post_attention_norm", "post_attention_layernorm"},
                                        {"attn_qkv", "linear_attn.in_proj_qkv"},
                                        {"attn_gate", "linear_attn.in_proj_z"},
                                        {"ssm_conv1d", "linear_attn.conv1d"},
                                        {"ssm_dt", "linear_attn.dt_bias", true},
                                        {"ssm_a", "linear_attn.A_log", true},
                                        {"ssm_ba", "linear_attn.in_proj_ba"},
                                        {"ssm_alpha", "linear_attn.in_proj_a"},
                                        {"ssm_beta", "linear_attn.in_proj_b"},
                                        {"ssm_norm", "linear_attn.norm"},
                                        {"ssm_out", "linear_attn.out_proj"},
                                        {"ffn_gate_inp", "mlp.gate"},
                                        {"ffn_gate_exps", "mlp.experts.{}.gate_proj"},
                                        {"ffn_up_exps", "mlp.experts.{}.up_proj"},
                                        {"ffn_down_exps", "mlp.experts.{}.down_proj"},
                                        {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
                                        {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                                        {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                                        {"ffn_down_shexp", "mlp.shared_expert.down_proj"}};
constexpr NamePair kLfm2Names[] = {{"token_embd_norm", "model.embedding_norm"},
                                   {"attn_norm", "operator_norm"},
                                   {"attn_output", "self_attn.out_proj"},
                                   {"attn_q_norm", "self_attn.q_layernorm"},
                                   {"attn_k_norm", "self_attn.k_layernorm"},
                                   {"shortconv.conv", "conv.conv"},
                                   {"shortconv.in_proj", "conv.in_proj"},
                                   {"shortconv.out_proj", "conv.out_proj"},
                                   {"ffn_norm", "ffn_norm"},
                                   {"ffn_gate_inp", "feed_forward.gate"},
                                   {"exp_probs_b", "feed_forward.expert_bias", true},
                                   {"ffn_gate_exps", "feed_forward.experts.{}.w1"},
                                   {"ffn_up_exps", "feed_forward.experts.{}.w3"},
                                   {"ffn_down_exps", "feed_forward.experts.{}.w2"},
                                   {"ffn_gate", "feed_forward.w1"},
                                   {"ffn_up", "feed_forward.w3"},
                                   {"ffn_down", "feed_forward.w2"}};

constexpr GgufArchitecture kArchitectures[] = {
    {.name = "gemma3",
     .model_type = "gemma3_text",
     .norm_offset = 1,
     .names = kGemma3Names,
     .read_more = read_gemma3},
    {.name = "gemma4",
     .model_type = "gemma4_text",
     .names = kGemma4Names,
     .read_attention = read_gemma4_layers,
     .read_more = read_gemma4},
    {.name = "gpt-oss", .model_type = "gpt_oss", .names = kGptOssNames, .read_more = read_gpt_oss},
    {.name = "granite",
     .model_type = "granite",
     .has_paired_rows = true,
     .read_more = read_granite},
    {.name = "hunyuan-dense",
     .model_type = "hunyuan_v1_dense",
     .names = kHunyuanNames,
     .read_more = read_hunyuan},
    {.name = "lfm2",
     .model_type = "lfm2",
     .names = kLfm2Names,
     .read_layers = read_lfm2_layers,
     .read_more = read_lfm2},
    {.name = "lfm2moe",
     .model_type = "lfm2_moe",
     .names = kLfm2Names,
     .read_layers = read_lfm2_layers,
     .read_more = read_lfm2_moe},
    {.name = "llama", .model_type = "llama", .has_paired_rows = true, .read_more = read_llama},
    {.name = "olmo2", .model_type = "olmo2", .names = kOlmo2Names},
    {.name = "openai-privacy-filter",
     .model_type = "openai_privacy_filter",
     .names = kPrivacyFilterNames,
     .read_more = read_privacy_filter},
    {.name = "phi3",
     .model_type = "phi3",
     .has_partial_rotary = true,
     .names = kPhi3Names,
     .read_more = read_phi3},
    {.name = "qwen2", .model_type = "qwen2"},
    {.name = "qwen3", .model_type = "qwen3"},
    {.name = "qwen3moe",
     .model_type = "qwen3_moe",
     .names = kQwen3MoeNames,
     .read_more = read_qwen3_moe},
    {.name = "qwen3next",
     .model_type = "qwen3_next",
     .has_partial_rotary = true,
     .norm_offset = 1,
     .names = kQwen3NextNames,
     .read_layers = read_linear_attention,
     .read_more = read_qwen3_next},
    {.name = "qwen35",
     .model_type = "qwen3_5_text",
     .has_partial_rotary = true,
     .norm_offset = 1,
     .names = kQwen3NextNames,
     .read_layers = read_linear_attention,
     .read_more = read_qwen3_5},
    {.name = "smollm3", .model_type = "smollm3", .has_paired_rows = true},
};

}  // namespace

Result<const GgufArchitecture*> find_architecture(const GgufFile& file) {
  ANEMONE_ASSIGN_OR_RETURN(const auto name, file.metadata().text("general.architecture"));
  std::string known;
  for (const GgufArchitecture& architecture : kArchitectures) {
    if (name && *name == architecture.name) return &architecture;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", architecture.name);
  }
  return unsupported("[{}] expected general.architecture to be one of {}, got {}", file.path(),
                     known, name ? fmt::format("\"{}\"", *name) : "none");
}

}  // namespace anemone::checkpoint::gguf
