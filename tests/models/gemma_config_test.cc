// SPDX-License-Identifier: Apache-2.0
// Configurations of gemma3 and gemma4.
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/models/config_cases.h"

namespace anemone::models::testing {
namespace {

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
  EXPECT_EQ(config->experts.active, 3);
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

}  // namespace
}  // namespace anemone::models::testing
