// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checkpoint/hf_config.h"
#include "models/architecture.h"

namespace anemone::models {
namespace {

Result<DecoderConfig> read(Json json) {
  ANEMONE_ASSIGN_OR_RETURN(const auto config,
                           checkpoint::HfConfig::from_json(std::move(json), "config.json"));
  ANEMONE_ASSIGN_OR_RETURN(const Architecture* architecture,
                           find_architecture(config.model_type()));
  return architecture->read_config(config);
}

Json tiny(const std::string& type) {
  return {{"model_type", type},      {"vocab_size", 96},       {"hidden_size", 48},
          {"intermediate_size", 80}, {"num_hidden_layers", 4}, {"num_attention_heads", 4}};
}

std::vector<std::int64_t> windows(const DecoderConfig& config) {
  std::vector<std::int64_t> out;
  for (const LayerConfig& layer : config.layers) out.push_back(layer.window);
  return out;
}

std::vector<bool> ropes(const DecoderConfig& config) {
  std::vector<bool> out;
  for (const LayerConfig& layer : config.layers) out.push_back(layer.has_rope);
  return out;
}

TEST(LlamaConfig, TakesItsClassDefaultsForAbsentKeys) {
  const auto config = read(tiny("llama"));
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->num_kv_heads, 4);
  EXPECT_EQ(config->head_dim, 12);
  EXPECT_EQ(config->max_position, 2048);
  EXPECT_EQ(config->rms_norm_eps, 1e-6);
  EXPECT_FALSE(config->tie_word_embeddings);
  EXPECT_FALSE(config->qkv_bias);
  EXPECT_EQ(config->eos_ids, std::vector<std::int64_t>{2});
  EXPECT_EQ(config->bos_id, 1);
}

TEST(LlamaConfig, NullTokenIdsMeanNone) {
  Json json = tiny("llama");
  json["eos_token_id"] = nullptr;
  json["bos_token_id"] = nullptr;
  const auto config = read(json);
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(config->eos_ids.empty());
  EXPECT_FALSE(config->bos_id.has_value());
}

TEST(LlamaConfig, WantsAHiddenSizeThatTheHeadsDivideEvenWithAHeadDim) {
  Json json = tiny("llama");
  json["hidden_size"] = 50;
  json["head_dim"] = 12;
  EXPECT_FALSE(read(json).ok());
  json["model_type"] = "mistral";
  json["num_key_value_heads"] = 2;
  EXPECT_TRUE(read(json).ok());
}

TEST(MistralConfig, AbsentWindowIs4096AndNullIsNone) {
  Json json = tiny("mistral");
  json["num_attention_heads"] = 8;
  const auto absent = read(json);
  ASSERT_TRUE(absent.ok()) << absent.status().message();
  EXPECT_EQ(windows(*absent), (std::vector<std::int64_t>{4096, 4096, 4096, 4096}));
  EXPECT_EQ(absent->num_kv_heads, 8);
  json["sliding_window"] = nullptr;
  const auto null = read(json);
  ASSERT_TRUE(null.ok());
  EXPECT_EQ(windows(*null), (std::vector<std::int64_t>{0, 0, 0, 0}));
}

TEST(MistralConfig, SlidesWhereLayerTypesSaySo) {
  Json json = tiny("mistral");
  json["num_key_value_heads"] = 2;
  json["sliding_window"] = 9;
  json["layer_types"] = {"sliding_attention", "full_attention", "attention", "sliding_attention"};
  const auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{9, 0, 0, 9}));
}

TEST(Qwen2Config, SlidesOnlyWhereTheSwitchAndTheLayerSaySo) {
  Json json = tiny("qwen2");
  json["num_key_value_heads"] = 2;
  json["sliding_window"] = 7;
  json["max_window_layers"] = 1;
  auto config = read(json);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{0, 0, 0, 0}));
  json["use_sliding_window"] = true;
  config = read(json);
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{0, 7, 7, 7}));
  json["layer_types"] = {"sliding_attention", "full_attention", "full_attention",
                         "sliding_attention"};
  config = read(json);
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{7, 0, 0, 7}));
  EXPECT_TRUE(config->qkv_bias);
  EXPECT_FALSE(config->output_bias);
}

TEST(Qwen3Config, HeadDimDoesNotFollowHiddenSize) {
  Json json = tiny("qwen3");
  json["num_key_value_heads"] = nullptr;
  const auto config = read(json);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->head_dim, 128);
  EXPECT_EQ(config->num_kv_heads, 4);  // null: one per head
  EXPECT_EQ(config->qk_norm, QkNorm::kBeforeRope);
}

TEST(SmolLm3Config, LeavesOutRopeOnEveryFourthLayerOrAsListed) {
  Json json = tiny("smollm3");
  auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(ropes(*config), (std::vector<bool>{true, true, true, false}));
  EXPECT_TRUE(config->tie_word_embeddings);
  json["no_rope_layers"] = {0, 1, 0, 1};
  json["use_sliding_window"] = true;
  json["sliding_window"] = 5;
  config = read(json);
  EXPECT_EQ(ropes(*config), (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{5, 0, 5, 0}));
}

TEST(SmolLm3Config, TakesALongerListAndThenNoInterval) {
  Json json = tiny("smollm3");
  json["no_rope_layers"] = {0, 1, 1, 0, 0, 1};
  json["no_rope_layer_interval"] = 0;
  const auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(ropes(*config), (std::vector<bool>{false, true, true, false}));
  json["no_rope_layers"] = {0, 1};
  EXPECT_FALSE(read(json).ok());
}

TEST(Phi3Config, TakesItsClassDefaults) {
  const auto config = read(tiny("phi3"));
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->num_kv_heads, 4);
  EXPECT_EQ(config->max_position, 4096);
  EXPECT_EQ(config->rms_norm_eps, 1e-5);
  EXPECT_EQ(config->ropes[0].inv_freq.size(), 6U);
  EXPECT_EQ(config->ropes[0].short_length, 0);
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(config->eos_ids, std::vector<std::int64_t>{32000});
  EXPECT_EQ(config->tensors.qkv, std::vector<std::string>{"qkv_proj"});
}

TEST(Phi3Config, RotatesAPartOfTheHeadByTheLengthOfTheText) {
  Json json = tiny("phi3");
  json["partial_rotary_factor"] = 0.75;  // 9 of 12
  EXPECT_NE(read(json).status().message().find("partial_rotary_factor"), std::string::npos);
  json["partial_rotary_factor"] = 0.5;
  json["max_position_embeddings"] = 131072;
  // Older names of the same; the original length is the class's, whatever the dictionary says.
  for (const char* type : {"longrope", "su", "yarn"}) {
    json["rope_scaling"] = {{"type", type},
                            {"short_factor", {1.0, 1.0, 1.0}},
                            {"long_factor", {1.0, 2.0, 4.0}},
                            {"original_max_position_embeddings", 7}};
    const auto config = read(json);
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_EQ(config->ropes[0].short_length, 4096);
    ASSERT_EQ(config->ropes[0].long_inv_freq.size(), 3U);
    EXPECT_FLOAT_EQ(config->ropes[0].long_inv_freq[2], config->ropes[0].inv_freq[2] / 4);
    EXPECT_FLOAT_EQ(config->ropes[0].scale, std::sqrt(1.0F + std::log(32.0F) / std::log(4096.0F)));
  }
  json["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_EQ(read(json).status().code(), Code::kUnsupported);
}

TEST(HunYuanConfig, StretchesThetaByAlpha) {
  Json json = tiny("hunyuan_v1_dense");
  EXPECT_NE(read(json).status().message().find("head_dim"), std::string::npos);
  json["head_dim"] = 12;
  json["rope_scaling"] = {{"type", "dynamic"}, {"alpha", 1000.0}, {"factor", 1.0}};
  const auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  const double theta = 10000 * std::pow(1000, 12.0 / 10);
  EXPECT_FLOAT_EQ(config->ropes[0].inv_freq[1], static_cast<float>(std::pow(theta, -2.0 / 12)));
  EXPECT_EQ(config->qk_norm, QkNorm::kAfterRope);
  for (const auto& [key, value] : {std::pair("use_qk_norm", false), std::pair("use_cla", true)}) {
    Json other = json;
    other[key] = value;
    EXPECT_NE(read(other).status().message().find(key), std::string::npos);
  }
  json["rope_scaling"]["alpha"] = -1;
  EXPECT_NE(read(json).status().message().find("alpha"), std::string::npos);
}

TEST(Gemma3Config, HasARopeForEachKindOfLayer) {
  Json json = tiny("gemma3_text");
  json["num_hidden_layers"] = 7;
  json["rope_theta"] = 30000.0;
  json["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 4.0}};
  const auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->head_dim, 256);
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{4096, 4096, 4096, 4096, 4096, 0, 4096}));
  EXPECT_EQ(config->layers[4].rope, 1U);
  EXPECT_EQ(config->layers[5].rope, 0U);
  ASSERT_EQ(config->ropes.size(), 2U);
  EXPECT_FLOAT_EQ(config->ropes[0].inv_freq[1],
                  static_cast<float>(std::pow(30000, -2.0 / 256) / 4));
  EXPECT_FLOAT_EQ(config->ropes[1].inv_freq[1], static_cast<float>(std::pow(10000, -2.0 / 256)));
  EXPECT_EQ(config->activation, Activation::kGeluTanh);
  EXPECT_EQ(config->attention_scale, 1.0 / 16);
  EXPECT_EQ(config->norm_offset, 1);
  EXPECT_EQ(config->eos_ids, std::vector<std::int64_t>{1});
  EXPECT_TRUE(config->tie_word_embeddings);
}

TEST(Gemma3Config, TakesADictionaryForEachKindOfLayer) {
  Json json = tiny("gemma3_text");
  json["rope_parameters"] = {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 500.0}}},
                             {"sliding_attention", {{"rope_theta", 70.0}}}};
  json["sliding_window_pattern"] = 2;
  const auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_FLOAT_EQ(config->ropes[0].inv_freq[1], static_cast<float>(std::pow(500, -2.0 / 256)));
  EXPECT_FLOAT_EQ(config->ropes[1].inv_freq[1], static_cast<float>(std::pow(70, -2.0 / 256)));
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{4096, 0, 4096, 0}));
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 500.0}};
  EXPECT_EQ(read(json).status().code(), Code::kUnsupported);
}

TEST(Gemma4Config, ReadsTheHeadsOfEachKindOfLayer) {
  Json json = tiny("gemma4_text");
  json["vocab_size_per_layer_input"] = 96;
  json["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention",
                         "sliding_attention"};
  json["head_dim"] = 8;
  json["num_global_key_value_heads"] = 2;
  auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{512, 0, 512, 0}));  // the last is full
  EXPECT_EQ(config->head_dim_of(config->layers[0]), 8);
  EXPECT_EQ(config->head_dim_of(config->layers[1]), 512);
  EXPECT_EQ(config->kv_heads_of(config->layers[1]), 4);  // without attention_k_eq_v
  EXPECT_EQ(config->ropes[0].inv_freq.size(), 256U);
  EXPECT_NE(config->ropes[0].inv_freq[63], 0);
  EXPECT_EQ(config->ropes[0].inv_freq[64], 0);  // a quarter turns
  EXPECT_EQ(config->ropes[1].inv_freq.size(), 4U);
  EXPECT_EQ(config->layer_embedding_size, 256);
  json["attention_k_eq_v"] = true;
  config = read(json);
  EXPECT_EQ(config->kv_heads_of(config->layers[1]), 2);
  EXPECT_TRUE(config->layers[1].values_are_keys);
  EXPECT_FALSE(config->layers[0].values_are_keys);
  json["per_layer_config"] = {{"1", {{"head_dim", 16}}}, {"3", {{"head_dim", 16}}}};
  config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->head_dim_of(config->layers[1]), 16);
  EXPECT_EQ(config->kv_heads_of(config->layers[1]), 4);
  for (const Json& wrong : {Json{{"1", {{"sliding_window", 3}}}}, Json{{"1", 3}}}) {
    json["per_layer_config"] = wrong;
    EXPECT_NE(read(json).status().message().find("per_layer_config"), std::string::npos);
  }
}

TEST(Gemma4Config, SharesTheKeysOfTheLastLayerOfAKind) {
  Json json = tiny("gemma4_text");
  json["num_hidden_layers"] = 6;
  json["hidden_size_per_layer_input"] = 0;
  json["layer_types"] = {"sliding_attention", "sliding_attention", "full_attention",
                         "sliding_attention", "sliding_attention", "full_attention"};
  json["num_kv_shared_layers"] = 3;
  json["use_double_wide_mlp"] = true;
  const auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  std::vector<std::int64_t> owners;
  for (const LayerConfig& layer : config->layers) owners.push_back(layer.kv_layer);
  EXPECT_EQ(owners, (std::vector<std::int64_t>{-1, -1, -1, 1, 1, 2}));
  EXPECT_EQ(config->mlp_width_of(config->layers[2]), 80);
  EXPECT_EQ(config->mlp_width_of(config->layers[3]), 160);
  ASSERT_EQ(config->carried.size(), 4U);
  EXPECT_EQ(config->carried[0].channels, 4 * 256);
  EXPECT_FALSE(config->carried[0].crosses(1));
  EXPECT_TRUE(config->carried[0].crosses(4));
  EXPECT_FALSE(config->carried[0].crosses(5));
  json["num_kv_shared_layers"] = 6;
  EXPECT_NE(read(json).status().message().find("num_kv_shared_layers"), std::string::npos);
  json["num_kv_shared_layers"] = 4;  // no full layer has keys of its own
  EXPECT_NE(read(json).status().message().find("keys of its own"), std::string::npos);
}

TEST(Gemma4Config, ReadsExpertsBesideTheMlp) {
  Json json = tiny("gemma4_text");
  json["hidden_size_per_layer_input"] = 0;
  json["num_experts"] = 8;  // without meaning until the switch
  EXPECT_EQ(read(json)->experts.count, 0);
  json["enable_moe_block"] = true;
  json["moe_intermediate_size"] = 16;
  EXPECT_NE(read(json).status().message().find("top_k_experts"), std::string::npos);
  json["top_k_experts"] = 3;
  const auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->experts.chosen, 3);
  EXPECT_EQ(config->experts.shared_width, 80);
  EXPECT_TRUE(config->layers[3].has_experts);
}

TEST(Gemma4Config, RefusesWhatItDoesNotCompute) {
  for (const auto& [key, value] : {std::pair<const char*, Json>("vocab_size_per_layer_input", 95),
                                   {"use_bidirectional_attention", "all"},
                                   {"rope_parameters", {{"rope_type", "default"}}},
                                   {"final_logit_softcapping", 0}}) {
    Json json = tiny("gemma4_text");
    json["vocab_size_per_layer_input"] = 96;
    EXPECT_TRUE(read(json).ok());
    json[key] = value;
    EXPECT_NE(read(json).status().message().find(key), std::string::npos) << key;
  }
}

TEST(ZayaConfig, ReadsItsKindsOfLayers) {
  Json json = tiny("zaya");
  auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->head_dim, 128);
  EXPECT_EQ(config->num_kv_heads, 2);
  EXPECT_EQ(config->conv_taps, 2);
  EXPECT_EQ(config->experts.count, 16);
  ASSERT_EQ(config->ropes.size(), 1U);
  EXPECT_EQ(config->ropes[0].inv_freq.size(), 32U);  // a half turns
  ASSERT_EQ(config->carried.size(), 1U);
  EXPECT_TRUE(config->carried[0].crosses(3));
  EXPECT_FALSE(config->carried[0].crosses(4));
  json["layer_types"] = {"hybrid", "hybrid_sliding", "hybrid", "hybrid_sliding"};
  EXPECT_NE(read(json).status().message().find("sliding_window"), std::string::npos);
  json["sliding_window"] = 9;
  json["rope_parameters"] = {{"hybrid", {{"rope_theta", 500.0}}},
                             {"hybrid_sliding", {{"rope_theta", 70.0}}},
                             {"rope_type", "default"}};
  config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{0, 9, 0, 9}));
  EXPECT_EQ(config->layers[3].rope, 1U);
  EXPECT_EQ(config->ropes[0].inv_freq.size(), 64U);  // the factor has no default there
}

TEST(ZayaConfig, RefusesWhatItDoesNotCompute) {
  for (const auto& [key, value] : {std::pair<const char*, Json>("num_experts_per_tok", 2),
                                   {"lm_head_bias", true},
                                   {"cca_time0", 1},
                                   {"num_query_groups", 2},
                                   {"rope_parameters", {{"rope_theta", 5.0}}},
                                   {"layer_types", {"hybrid", "full_attention"}}}) {
    Json json = tiny("zaya");
    json[key] = value;
    EXPECT_NE(read(json).status().message().find(key), std::string::npos) << key;
  }
}

TEST(Qwen3NextConfig, ReadsItsKindsOfLayersAndExperts) {
  Json json = tiny("qwen3_next");
  json["num_hidden_layers"] = 5;
  json["mlp_only_layers"] = {0};
  auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  std::vector<bool> linear;
  for (const LayerConfig& layer : config->layers) linear.push_back(layer.is_delta_net);
  EXPECT_EQ(linear, (std::vector<bool>{true, true, true, false, true}));
  EXPECT_EQ(config->ropes[0].inv_freq.size(), 32U);  // a quarter of 256 turns
  EXPECT_EQ(config->norm_offset, 1);
  EXPECT_TRUE(config->has_output_gate);
  EXPECT_TRUE(config->delta_net.is_interleaved);
  EXPECT_EQ(config->experts.chosen, 10);
  EXPECT_EQ(config->experts.shared_width, 512);
  EXPECT_TRUE(config->experts.is_normalized);
  EXPECT_FALSE(config->layers[0].has_experts);
  EXPECT_TRUE(config->layers[1].has_experts);
  json["full_attention_interval"] = 2;
  json["partial_rotary_factor"] = 0.5;
  config = read(json);
  EXPECT_FALSE(config->layers[1].is_delta_net);
  EXPECT_EQ(config->ropes[0].inv_freq.size(), 64U);
}

TEST(Qwen35Config, HasAnMlpAndProjectionsOfTheirOwn) {
  Json json = tiny("qwen3_5_text");
  json["num_key_value_heads"] = 2;
  json["rope_parameters"] = {{"rope_type", "default"},
                             {"rope_theta", 5000.0},
                             {"partial_rotary_factor", 0.5},
                             {"mrope_section", {11, 11, 10}}};
  const auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->ropes[0].inv_freq.size(), 64U);
  EXPECT_FALSE(config->delta_net.is_interleaved);
  EXPECT_FALSE(config->layers[0].has_experts);
  for (const auto& [key, value] : {std::pair<const char*, Json>("linear_num_key_heads", 3),
                                   {"linear_conv_kernel_dim", 1},
                                   {"layer_types", {"linear_attention"}},
                                   {"layer_types", Json(4, "sliding_attention")}}) {
    Json wrong = json;
    wrong[key] = value;
    EXPECT_NE(read(wrong).status().message().find(key), std::string::npos) << key;
  }
}

TEST(Lfm2Config, KnowsTheKeysOfOlderFiles) {
  Json json = tiny("lfm2");
  json["num_key_value_heads"] = 2;
  json["block_ff_dim"] = 240;
  json["block_multiple_of"] = 16;
  json["block_ffn_dim_multiplier"] = 1.1;
  json["full_attn_idxs"] = {1, 3};
  json["tie_embedding"] = false;
  json["norm_eps"] = 0.25;
  const auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->intermediate_size, 176);  // 240 -> 160 -> 176
  EXPECT_FALSE(config->tie_word_embeddings);
  EXPECT_EQ(config->rms_norm_eps, 0.25);
  EXPECT_EQ(config->conv_taps, 3);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(config->layers[i].is_short_conv, i % 2 == 0);
  json["block_auto_adjust_ff_dim"] = false;
  EXPECT_EQ(read(json)->intermediate_size, 240);
}

TEST(Lfm2Config, ReadsTheKindsOfLayers) {
  Json json = tiny("lfm2");
  json["num_key_value_heads"] = 2;
  EXPECT_FALSE(read(json)->layers[0].is_short_conv);
  json["layer_types"] = {"conv", "conv", "full_attention", "conv"};
  EXPECT_TRUE(read(json)->layers[0].is_short_conv);
  EXPECT_FALSE(read(json)->layers[2].is_short_conv);
  json["layer_types"] = {"conv", "conv", "sliding_attention", "conv"};
  EXPECT_EQ(read(json).status().code(), Code::kUnsupported);
  json["layer_types"] = {"conv"};
  EXPECT_EQ(read(json).status().code(), Code::kParseError);
  json.erase("layer_types");
  json["conv_L_cache"] = 1;
  EXPECT_NE(read(json).status().message().find("conv_L_cache"), std::string::npos);
}

std::vector<bool> sparse_layers(const DecoderConfig& config) {
  std::vector<bool> out;
  for (const LayerConfig& layer : config.layers) out.push_back(layer.has_experts);
  return out;
}

TEST(Lfm2MoeConfig, HasExpertsBehindTheDenseLayers) {
  Json json = tiny("lfm2_moe");
  EXPECT_NE(read(json).status().message().find("num_attention_heads (4)"), std::string::npos);
  json["num_key_value_heads"] = 2;
  EXPECT_NE(read(json).status().message().find("layer_types"), std::string::npos);
  json["layer_types"] = {"conv", "conv", "full_attention", "conv"};
  auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(sparse_layers(*config), (std::vector<bool>{false, false, true, true}));
  const ExpertsConfig& experts = config->experts;
  EXPECT_EQ(experts.count, 32);
  EXPECT_EQ(experts.chosen, 4);
  EXPECT_EQ(experts.width, 1792);
  EXPECT_EQ(experts.score, ExpertsConfig::Score::kSigmoid);
  EXPECT_TRUE(experts.is_normalized);
  EXPECT_EQ(experts.selection_bias, "expert_bias");
  EXPECT_EQ(config->intermediate_size, 80);  // as it stands
  json["num_dense_layers"] = 0;
  json["use_expert_bias"] = false;
  json["norm_topk_prob"] = false;
  json["routed_scaling_factor"] = 2.5;
  config = read(json);
  EXPECT_EQ(sparse_layers(*config), std::vector<bool>(4, true));
  EXPECT_EQ(config->experts.selection_bias, "");
  EXPECT_FALSE(config->experts.is_normalized);
  EXPECT_EQ(config->experts.scale, 2.5);
}

TEST(Qwen3MoeConfig, HasExpertsWhereTheStepAndTheListSaySo) {
  Json json = tiny("qwen3_moe");
  auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(sparse_layers(*config), std::vector<bool>(4, true));
  EXPECT_EQ(config->num_kv_heads, 4);
  EXPECT_EQ(config->head_dim, 12);
  EXPECT_EQ(config->experts.count, 128);
  EXPECT_EQ(config->experts.chosen, 8);
  EXPECT_EQ(config->experts.width, 768);
  EXPECT_FALSE(config->experts.is_normalized);
  json["decoder_sparse_step"] = 2;
  json["mlp_only_layers"] = {1};
  json["sliding_window"] = 9;
  config = read(json);
  EXPECT_EQ(sparse_layers(*config), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{0, 0, 0, 0}));
  json["use_sliding_window"] = true;
  EXPECT_EQ(windows(*read(json)), (std::vector<std::int64_t>{9, 9, 9, 9}));
}

TEST(Qwen3MoeConfig, RefusesMoreChosenExpertsThanThereAre) {
  Json json = tiny("qwen3_moe");
  json["num_experts"] = 6;
  EXPECT_NE(read(json).status().message().find("num_experts_per_tok of at most 6"),
            std::string::npos);
  json["num_local_experts"] = 16;  // the newer name wins
  EXPECT_EQ(read(json)->experts.count, 16);
  json["num_local_experts"] = 5000;
  EXPECT_EQ(read(json).status().code(), Code::kUnsupported);
}

TEST(GptOssConfig, ReadsWhatTheClassDefaultsTo) {
  Json json = tiny("gpt_oss");
  json["num_key_value_heads"] = 2;
  auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->head_dim, 64);
  EXPECT_TRUE(config->qkv_bias && config->output_bias);
  EXPECT_EQ(config->tensors.sinks, "sinks");
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{128, 0, 128, 0}));
  EXPECT_EQ(sparse_layers(*config), std::vector<bool>(4, true));
  EXPECT_EQ(config->activation, Activation::kClampedSwiglu);
  EXPECT_EQ(config->swiglu_alpha, 1.702);
  EXPECT_EQ(config->swiglu_limit, 7);
  const ExpertsConfig& experts = config->experts;
  EXPECT_EQ(experts.count, 128);
  EXPECT_EQ(experts.chosen, 4);
  EXPECT_EQ(experts.width, 80);
  EXPECT_TRUE(experts.is_normalized && experts.router_bias && experts.has_bias);
  EXPECT_TRUE(experts.is_transposed && experts.is_interleaved);
  // Without a word about the rope it is yarn with factor 32.
  EXPECT_NEAR(config->ropes[0].scale, 0.1 * std::log(32.0) + 1, 1e-6);
  json["rope_parameters"] = {{"rope_theta", 1000.0}};
  json["num_local_experts"] = 6;
  json["num_experts_per_tok"] = 2;
  json["layer_types"] = {"full_attention", "full_attention", "sliding_attention", "full_attention"};
  json["sliding_window"] = 9;
  json["attention_bias"] = false;
  config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->ropes[0].scale, 1);
  EXPECT_EQ(config->experts.count, 6);
  EXPECT_EQ(windows(*config), (std::vector<std::int64_t>{0, 0, 9, 0}));
  EXPECT_FALSE(config->qkv_bias);
  json["sliding_window"] = nullptr;
  EXPECT_NE(read(json).status().message().find("sliding_window"), std::string::npos);
  json["sliding_window"] = 9;
  json["swiglu_limit"] = 0;
  EXPECT_NE(read(json).status().message().find("swiglu_limit"), std::string::npos);
}

TEST(GraniteConfig, ReadsItsFactors) {
  Json json = tiny("granite");
  EXPECT_EQ(read(json)->attention_scale, 1);  // not head_dim^-0.5
  json["embedding_multiplier"] = 12;
  json["residual_multiplier"] = 0.5;
  json["logits_scaling"] = 8.0;
  const auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->embedding_scale, 12);
  EXPECT_EQ(config->residual_scale, 0.5);
  EXPECT_EQ(config->logit_scale, 0.125);
  json["logits_scaling"] = 0;
  EXPECT_NE(read(json).status().message().find("logits_scaling"), std::string::npos);
}

TEST(Olmo2Config, HasNormsBehindAttentionAndMlp) {
  const auto config = read(tiny("olmo2"));
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->qk_norm, QkNorm::kWhole);
  EXPECT_EQ(config->tensors.attention_input_norm, "");
  EXPECT_EQ(config->tensors.mlp_output_norm, "post_feedforward_layernorm");
  EXPECT_EQ(config->eos_ids, std::vector<std::int64_t>{50279});
  EXPECT_FALSE(config->bos_id.has_value());
}

TEST(ReadConfig, RefusesALayerThatSlidesWithoutAWindow) {
  const Json types = {"full_attention", "sliding_attention", "full_attention", "full_attention"};
  const std::vector<std::pair<std::string, Json>> cases = {
      {"qwen2", {{"use_sliding_window", false}, {"sliding_window", 8}}},
      {"qwen3", {{"use_sliding_window", true}, {"sliding_window", nullptr}}},
      {"mistral", {{"sliding_window", nullptr}}},
      {"smollm3", {{"use_sliding_window", true}}},
  };
  for (const auto& [type, keys] : cases) {
    Json json = tiny(type);
    json["num_key_value_heads"] = 2;
    json["layer_types"] = types;
    json.update(keys);
    const auto config = read(json);
    ASSERT_FALSE(config.ok()) << type;
    EXPECT_NE(config.status().message().find("sliding_window"), std::string::npos)
        << config.status().message();
  }
}

TEST(ReadConfig, RefusesNullWhereTransformersDoes) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"llama",
       {"vocab_size", "num_attention_heads", "hidden_act", "rms_norm_eps", "attention_bias",
        "mlp_bias", "max_position_embeddings", "tie_word_embeddings", "rope_theta"}},
      {"mistral", {"num_key_value_heads"}},
      {"qwen2", {"head_dim", "use_sliding_window", "max_window_layers"}},
      {"qwen3", {"head_dim"}},
      {"smollm3", {"head_dim", "no_rope_layer_interval"}},
  };
  for (const auto& [type, keys] : cases)
    for (const std::string& key : keys) {
      Json json = tiny(type);
      json["num_key_value_heads"] = 2;
      json[key] = nullptr;
      const auto config = read(json);
      ASSERT_FALSE(config.ok()) << type << " " << key;
      EXPECT_NE(config.status().message().find(key), std::string::npos)
          << config.status().message();
    }
  for (const std::string type : {"llama", "mistral"}) {
    Json json = tiny(type);
    json["num_key_value_heads"] = 2;
    json["head_dim"] = nullptr;
    const auto config = read(json);
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_EQ(config->head_dim, 12);
  }
}

TEST(ReadConfig, KnowsTheNamesOfOneActivation) {
  const std::vector<std::pair<std::string, Activation>> cases = {
      {"silu", Activation::kSilu},
      {"swish", Activation::kSilu},
      {"gelu", Activation::kGelu},
      {"gelu_python", Activation::kGelu},
      {"gelu_new", Activation::kGeluTanh},
      {"gelu_fast", Activation::kGeluTanh},
      {"gelu_accurate", Activation::kGeluTanh},
      {"gelu_pytorch_tanh", Activation::kGeluTanh},
      {"gelu_python_tanh", Activation::kGeluTanh},
      {"relu", Activation::kRelu},
  };
  for (const auto& [name, activation] : cases) {
    Json json = tiny("llama");
    json["hidden_act"] = name;
    const auto config = read(json);
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_EQ(config->activation, activation) << name;
  }
}

TEST(ReadConfig, NamesTheKeyThatIsWrong) {
  const std::vector<std::pair<std::string, Json>> cases = {
      {"hidden_size", -4},        {"hidden_size", "big"},
      {"num_hidden_layers", 0},   {"num_hidden_layers", 1000000},
      {"num_key_value_heads", 3}, {"head_dim", 7},
      {"hidden_act", "mish"},     {"rms_norm_eps", "small"},
      {"vocab_size", 1e30},       {"tie_word_embeddings", 3},
  };
  for (const auto& [key, value] : cases) {
    Json json = tiny("llama");
    json[key] = value;
    const auto config = read(json);
    ASSERT_FALSE(config.ok()) << key;
    const std::string named = key == "num_hidden_layers" && value == 1000000 ? "layers" : key;
    EXPECT_NE(config.status().message().find(named), std::string::npos)
        << config.status().message();
  }
}

TEST(ReadConfig, RefusesHeadsTooWideForMemory) {
  Json json = tiny("llama");
  json["head_dim"] = 2147483646;
  const auto config = read(json);
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.status().code(), Code::kParseError);
  EXPECT_NE(config.status().message().find("head_dim"), std::string::npos);
}

TEST(PrivacyFilterConfig, ReadsLabelsAndTheBand) {
  Json json = tiny("openai_privacy_filter");
  json["num_key_value_heads"] = 2;
  json["id2label"] = {{"0", "O"}, {"1", "B-x"}, {"2", "S-x"}};
  json["sliding_window"] = 3;
  auto config = read(json);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->labels, (std::vector<std::string>{"O", "B-x", "S-x"}));
  EXPECT_EQ(config->num_logits(), 3);
  for (const LayerConfig& layer : config->layers) EXPECT_EQ(layer.window, 4);  // 3 and the own one
  json.erase("id2label");
  config = read(json);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->labels.size(), 33U);
  EXPECT_EQ(config->labels[30], "I-secret");
  for (const char* labels : {"{}", "[]", "3", R"({"0": "O", "2": "B"})", R"({"0": 1})"}) {
    json["id2label"] = Json::parse(labels);
    EXPECT_EQ(read(json).status().code(), Code::kParseError) << labels;
  }
}

TEST(FindArchitecture, ListsTheKnownTypes) {
  const auto found = find_architecture("gpt9");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), Code::kUnsupported);
  for (const auto name : architecture_names())
    EXPECT_NE(found.status().message().find(name), std::string::npos);
}

}  // namespace
}  // namespace anemone::models
