// SPDX-License-Identifier: Apache-2.0
// Configurations of models whose layers are attention and an MLP.
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/models/config_cases.h"

namespace anemone::models::testing {
namespace {

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

}  // namespace
}  // namespace anemone::models::testing
