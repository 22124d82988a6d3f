// SPDX-License-Identifier: Apache-2.0
// Configurations of models with experts, short convolutions or gated delta nets.
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/models/config_cases.h"

namespace anemone::models::testing {
namespace {

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

TEST(ZayaConfig, SaysWhatToTakeInPlaceOfTheOlderForm) {
  Json json = tiny("zaya");
  json["num_query_groups"] = 2;
  const Status status = read(json).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("without \"-legacy\""), std::string::npos) << status.message();
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
  EXPECT_EQ(config->experts.active, 10);
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
  EXPECT_EQ(experts.active, 4);
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
  EXPECT_EQ(config->experts.active, 8);
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

TEST(Qwen3MoeConfig, RefusesMoreActiveExpertsThanThereAre) {
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
  EXPECT_EQ(experts.active, 4);
  EXPECT_EQ(experts.width, 80);
  EXPECT_TRUE(experts.is_normalized && experts.router_bias && experts.has_bias);
  EXPECT_TRUE(experts.is_transposed && experts.is_interleaved);
  // The rope is yarn with factor 32 when the config does not mention it.
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

}  // namespace
}  // namespace anemone::models::testing
