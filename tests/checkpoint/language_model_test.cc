// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/language_model.h"

#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

namespace anemone::checkpoint {
namespace {

class NamedWeights : public WeightSource {
 public:
  explicit NamedWeights(const std::vector<std::string>& names) {
    for (const std::string& name : names) weights_[name].name = name;
  }
  const WeightRef* find(std::string_view name) const override {
    const auto it = weights_.find(name);
    return it == weights_.end() ? nullptr : &it->second;
  }
  std::vector<const WeightRef*> all() const override {
    std::vector<const WeightRef*> out;
    for (const auto& [name, weight] : weights_) out.push_back(&weight);
    return out;
  }
  const std::string& origin() const override { return origin_; }

 private:
  std::map<std::string, WeightRef, std::less<>> weights_;
  std::string origin_ = "folder";
};

Result<Checkpoint> part_of(Json json, const std::vector<std::string>& names) {
  Checkpoint checkpoint;
  checkpoint.config = *HfConfig::from_json(std::move(json), "config.json");
  checkpoint.weights = std::make_shared<NamedWeights>(names);
  return language_model(std::move(checkpoint));
}

const Json kWhole = {{"model_type", "gemma3"},
                     {"text_config", {{"hidden_size", 64}, {"eos_token_id", 3}}},
                     {"eos_token_id", {1, 106}}};

TEST(LanguageModel, NamesTensorsAsTheLanguageModelAloneDoes) {
  for (const auto& [inner, head] :
       {std::pair<std::string, std::string>("model.language_model.", "lm_head.weight"),
        {"language_model.model.", "language_model.lm_head.weight"}}) {
    const auto text = part_of(kWhole, {inner + "layers.0.mlp.up_proj.weight", head,
                                       "vision_tower.layers.0.mlp.up_proj.weight"});
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_EQ(text->weights->all().size(), 2U);
    ASSERT_NE(text->weights->find("lm_head.weight"), nullptr);
    const WeightRef* found = text->weights->find("model.layers.0.mlp.up_proj.weight");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->name, "model.layers.0.mlp.up_proj.weight");
    EXPECT_EQ(text->weights->origin(), "folder");
  }
}

TEST(LanguageModel, TakesTheTextConfigWithWhatTheWholeSays) {
  const auto text = part_of(kWhole, {});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->config.model_type(), "gemma3_text");
  EXPECT_EQ(*text->config.size("hidden_size"), 64);
  EXPECT_EQ(*text->config.token_ids("eos_token_id"), (std::vector<std::int64_t>{1, 106}));
  EXPECT_TRUE(*text->config.boolean("tie_word_embeddings", false));
}

TEST(LanguageModel, LeavesOthersAsTheyAre) {
  const auto plain = part_of({{"model_type", "llama"}}, {"model.norm.weight", "other"});
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->weights->all().size(), 2U);
}

TEST(LanguageModel, MissesATextConfig) {
  const auto text = part_of({{"model_type", "gemma3"}, {"text_config", 3}}, {});
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.status().message().find("text_config"), std::string::npos);
}

}  // namespace
}  // namespace anemone::checkpoint
