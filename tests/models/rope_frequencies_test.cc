// SPDX-License-Identifier: Apache-2.0
// Rotary frequencies against those of transformers in data/rope_cases.json (make_rope_cases.py).
#include "models/blocks/rope_frequencies.h"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "checkpoint/hf_config.h"

namespace anemone::models {
namespace {

Result<artifact::Rope> frequencies(const Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(const auto config, checkpoint::HfConfig::from_json(json, "config.json"));
  ANEMONE_ASSIGN_OR_RETURN(const auto settings, config.rope(10000));
  return rope_frequencies(settings, 32, 1024);
}

class RopeCases : public ::testing::TestWithParam<Json> {};

TEST_P(RopeCases, AgreeWithTransformers) {
  const Json& entry = GetParam();
  const auto rope = frequencies(entry["config"]);
  ASSERT_TRUE(rope.ok()) << rope.status().message();
  ASSERT_EQ(rope->inv_freq.size(), entry["inv_freq"].size());
  for (std::size_t i = 0; i < rope->inv_freq.size(); ++i) {
    const float expected = entry["inv_freq"][i].get<float>();
    // transformers computes in fp32 with a handful of roundings: 8 units in the last place.
    EXPECT_NEAR(rope->inv_freq[i], expected, 8 * 6e-8f * expected) << i;
  }
  EXPECT_NEAR(rope->scale, entry["scale"].get<float>(), 1e-6f);
  EXPECT_EQ(rope->short_length, entry.value("short_length", 0));
  const auto long_inv_freq = entry.value("long_inv_freq", std::vector<float>());
  ASSERT_EQ(rope->long_inv_freq.size(), long_inv_freq.size());
  for (std::size_t i = 0; i < long_inv_freq.size(); ++i)
    EXPECT_NEAR(rope->long_inv_freq[i], long_inv_freq[i], 8 * 6e-8f * long_inv_freq[i]) << i;
}

Json load_cases() {
  auto cases =
      read_json_file(std::string(ANEMONE_SOURCE_DIR) + "/tests/models/data/rope_cases.json");
  return cases.ok() ? *cases : Json::array();
}

INSTANTIATE_TEST_SUITE_P(Transformers, RopeCases,
                         ::testing::ValuesIn(load_cases().get<std::vector<Json>>()),
                         [](const auto& test_info) {
                           std::string name = test_info.param["name"].template get<std::string>();
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

TEST(RopeFrequencies, RefuseWhatTheyDoNotKnow) {
  const Json json = {{"model_type", "llama"},
                     {"rope_scaling", {{"rope_type", "su"}, {"factor", 2.0}}}};
  const auto rope = frequencies(json);
  ASSERT_FALSE(rope.ok());
  EXPECT_EQ(rope.status().code(), Code::kUnsupported);
  EXPECT_NE(rope.status().message().find("\"su\""), std::string::npos);
}

TEST(RopeFrequencies, NameTheMissingFactor) {
  const auto rope =
      frequencies({{"model_type", "llama"}, {"rope_scaling", {{"rope_type", "linear"}}}});
  ASSERT_FALSE(rope.ok());
  EXPECT_NE(rope.status().message().find("factor"), std::string::npos);
}

TEST(RopeFrequencies, RefuseNumbersThatAreNotFinite) {
  const Json tiny_theta = {{"model_type", "llama"}, {"rope_theta", 1e-300}};
  const Json tiny_factor = {{"model_type", "llama"},
                            {"rope_scaling", {{"rope_type", "linear"}, {"factor", 1e-320}}}};
  const Json big_attention = {
      {"model_type", "llama"},
      {"rope_scaling", {{"rope_type", "yarn"}, {"factor", 2.0}, {"attention_factor", 1e300}}}};
  for (const Json& json : {tiny_theta, tiny_factor, big_attention}) {
    const auto rope = frequencies(json);
    ASSERT_FALSE(rope.ok()) << json;
    EXPECT_EQ(rope.status().code(), Code::kParseError);
    EXPECT_NE(rope.status().message().find("finite"), std::string::npos);
  }
}

TEST(RopeFrequencies, RefuseWhatTransformersCannotCompute) {
  const auto yarn = [](Json changes) {
    Json rope = {{"rope_type", "yarn"}, {"factor", 2.0}, {"original_max_position_embeddings", 64}};
    rope.update(changes);
    return rope;
  };
  const Json ones = std::vector<double>(16, 1.0);
  Json without_factor = yarn(Json::object());
  without_factor.erase("factor");
  const std::vector<std::pair<std::string, Json>> cases = {
      {"rope_type", {{"rope_type", nullptr}}},
      {"rope_theta", {{"rope_type", "default"}, {"rope_theta", nullptr}}},
      {"factor", {{"rope_type", "dynamic"}}},
      {"factor", without_factor},
      {"factor", yarn({{"factor", 0}})},
      {"original_max_position_embeddings", yarn({{"original_max_position_embeddings", nullptr}})},
      {"original_max_position_embeddings", yarn({{"original_max_position_embeddings", 0}})},
      {"rope_theta", yarn({{"rope_theta", 1.0}})},
      {"full_attention", {{"full_attention", {{"rope_type", "default"}}}}},
      {"partial_rotary_factor", yarn({{"partial_rotary_factor", 0.5}})},
      {"short_factor", {{"rope_type", "longrope"}, {"long_factor", ones}}},
      {"long_factor", {{"rope_type", "longrope"}, {"short_factor", ones}, {"long_factor", {1.0}}}},
      {"short_factor", {{"rope_type", "longrope"}, {"short_factor", 1}, {"long_factor", ones}}},
  };
  for (const auto& [key, rope] : cases) {
    const auto made = frequencies({{"model_type", "llama"}, {"rope_parameters", rope}});
    ASSERT_FALSE(made.ok()) << rope;
    EXPECT_NE(made.status().message().find(key), std::string::npos) << made.status().message();
  }
}

TEST(RopeFrequencies, TakeTheOriginalLengthBesideTheDictionaryFirst) {
  const Json rope = {
      {"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 256}};
  Json inside = rope;
  inside["original_max_position_embeddings"] = 16;
  const auto beside = frequencies(
      {{"model_type", "llama"}, {"rope_scaling", rope}, {"original_max_position_embeddings", 16}});
  const auto expected = frequencies({{"model_type", "llama"}, {"rope_scaling", inside}});
  ASSERT_TRUE(beside.ok() && expected.ok());
  EXPECT_EQ(beside->inv_freq, expected->inv_freq);
}

TEST(RopeFrequencies, RefuseNegativeTheta) {
  EXPECT_FALSE(frequencies({{"model_type", "llama"}, {"rope_theta", -1.0}}).ok());
}

}  // namespace
}  // namespace anemone::models
