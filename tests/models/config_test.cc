// SPDX-License-Identifier: Apache-2.0
// Configurations that every architecture refuses, and the list of architectures.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/models/config_cases.h"

namespace anemone::models::testing {
namespace {

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

TEST(FindArchitecture, ListsTheKnownTypes) {
  const auto found = find_architecture("gpt9");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), Code::kUnsupported);
  for (const auto name : architecture_names())
    EXPECT_NE(found.status().message().find(name), std::string::npos);
}

}  // namespace
}  // namespace anemone::models::testing
