// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/language_model.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"

namespace anemone::checkpoint {
namespace {

struct TextClass {
  std::string_view whole;
  std::string_view text;  // model_type of its text_config, where that does not say
  bool is_tied = true;    // by default, whatever text_config says
};
constexpr TextClass kTextClasses[] = {
    {"gemma3", "gemma3_text"}, {"gemma4", "gemma4_text"}, {"qwen3_5", "qwen3_5_text", false}};

// Keys whose value for the whole model wins over the one in text_config.
constexpr std::string_view kOuterKeys[] = {"eos_token_id", "tie_word_embeddings",
                                           "quantization_config"};

// Prefixes of the language model's tensors in the whole model (newer and older files), and those of
// the same tensors in a language model alone.
constexpr std::pair<std::string_view, std::string_view> kPrefixes[] = {
    {"model.language_model.", "model."},
    {"language_model.model.", "model."},
    {"language_model.lm_head.", "lm_head."},
    {"lm_head.", "lm_head."},
};

// The name that a tensor has in the language model alone; nullopt for tensors of the other parts.
std::optional<std::string> text_name(std::string_view name) {
  for (const auto& [prefix, replacement] : kPrefixes)
    if (name.starts_with(prefix))
      return std::string(replacement).append(name.substr(prefix.size()));
  return std::nullopt;
}

class TextWeights : public WeightMap {
 public:
  explicit TextWeights(std::shared_ptr<const WeightSource> whole)
      : WeightMap(whole->origin()), whole_(std::move(whole)) {
    for (const WeightRef* weight : whole_->all())
      if (auto name = text_name(weight->name)) add(std::move(*name), *weight);
  }

 private:
  std::shared_ptr<const WeightSource> whole_;  // keeps what the tensors are views of
};

}  // namespace

Result<Checkpoint> language_model(Checkpoint checkpoint) {
  const HfConfig whole = checkpoint.config;
  for (const TextClass& known : kTextClasses) {
    if (whole.model_type() != known.whole) continue;
    const Json* text = json_member(whole.json(), "text_config");
    if (text == nullptr || !text->is_object())
      return parse_error("[{}] expected an object \"text_config\", got {}", whole.subject(),
                         text == nullptr ? "none" : text->type_name());
    Json json = *text;
    if (json_member(json, "model_type") == nullptr) json["model_type"] = known.text;
    json["tie_word_embeddings"] = known.is_tied;
    for (const std::string_view key : kOuterKeys)
      if (const Json* value = json_member(whole.json(), key)) json[std::string(key)] = *value;
    ANEMONE_ASSIGN_OR_RETURN(checkpoint.config,
                             HfConfig::from_json(std::move(json), whole.subject()));
    if (checkpoint.has_weights)
      checkpoint.weights = std::make_shared<TextWeights>(std::move(checkpoint.weights));
    return checkpoint;
  }
  return checkpoint;
}

}  // namespace anemone::checkpoint
