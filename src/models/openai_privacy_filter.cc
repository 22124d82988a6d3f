// SPDX-License-Identifier: Apache-2.0
// OpenAIPrivacyFilterForTokenClassification: the layers of gpt-oss as an encoder. Every token
// attends as far ahead as back, pairs of the rotary embedding lie side by side, gate and up one
// after the other; the head gives a label for each token.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"
#include "models/gpt_oss.h"

namespace anemone::models {
namespace {

using checkpoint::HfConfig;

constexpr const char* kSpanLabels[] = {"account_number", "private_address", "private_date",
                                       "private_email",  "private_person",  "private_phone",
                                       "private_url",    "secret"};
constexpr std::size_t kMaxLabels = 1 << 20;

// id2label: {"0": "O", ...}, each number from 0 on once.
Result<std::vector<std::string>> read_labels(const HfConfig& config) {
  std::vector<std::string> labels;
  if (!config.has("id2label")) {
    labels.emplace_back("O");
    for (const char* span : kSpanLabels)
      for (const char* place : {"B-", "I-", "E-", "S-"})
        labels.push_back(std::string(place) + span);
    return labels;
  }
  const Json& map = config.json()["id2label"];
  if (!map.is_object() || map.empty() || map.size() > kMaxLabels)
    return parse_error("[{}] expected id2label to be an object of labels", config.subject());
  for (std::size_t i = 0; i < map.size(); ++i) {
    const Json* label = json_member(map, std::to_string(i));
    if (label == nullptr || !label->is_string())
      return parse_error("[{}] expected a label {} in id2label, got none", config.subject(), i);
    labels.push_back(label->get<std::string>());
  }
  return labels;
}

Result<DecoderConfig> read_privacy_filter_config(const HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 200064,
                                                       .hidden_size = 640,
                                                       .intermediate_size = 640,
                                                       .num_layers = 8,
                                                       .num_heads = 14,
                                                       .num_kv_heads = 2,
                                                       .head_dim = 64,
                                                       .null_head_dim = true,
                                                       .max_position = 131072,
                                                       .rope_theta = 150000,
                                                       .rms_norm_eps = 1e-5,
                                                       .activation_key = "",
                                                       .adjust_rope = default_to_yarn,
                                                       .eos_id = 199999}));
  ANEMONE_ASSIGN_OR_RETURN(decoder.labels, read_labels(config));
  if (decoder.tie_word_embeddings)
    return unsupported("[{}] expected tie_word_embeddings false in a model with labels, got true",
                       config.subject());
  decoder.tensors.head = "score";
  decoder.head_bias = true;
  decoder.rope_is_interleaved = true;
  ANEMONE_RETURN_IF_ERROR(read_gpt_oss_blocks(config, 640, decoder));
  decoder.experts.is_interleaved = false;
  // A token attends to both ends of the band.
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t window, config.size("sliding_window", 128));
  for (LayerConfig& layer : decoder.layers) layer.window = window + 1;
  return decoder;
}

}  // namespace

extern const Architecture kOpenAiPrivacyFilter;
const Architecture kOpenAiPrivacyFilter = {"openai_privacy_filter", read_privacy_filter_config,
                                           decoder_layer};

}  // namespace anemone::models
