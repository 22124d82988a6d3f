// SPDX-License-Identifier: Apache-2.0
// Qwen3-Next and Qwen3.5: most layers have a gated delta net in the place of attention.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/gguf/gguf_layers.h"

namespace anemone::checkpoint::gguf {

Status read_linear_attention(Keys& keys, Json& json) {
  // The last blocks may predict tokens further ahead; they are no layers.
  const auto blocks = json["num_hidden_layers"].get<std::int64_t>();
  ANEMONE_ASSIGN_OR_RETURN(const auto ahead, keys.integer("nextn_predict_layers"));
  const std::int64_t layers = blocks - ahead.value_or(0);
  if (ahead.value_or(0) < 0 || layers < 1)
    return parse_error("[{}] expected {}nextn_predict_layers from 0 to {}, got {}",
                       keys.file().path(), keys.prefix(), blocks - 1, *ahead);
  json["num_hidden_layers"] = layers;

  ANEMONE_ASSIGN_OR_RETURN(const auto interval, keys.integer("full_attention_interval"));
  if (interval) json["full_attention_interval"] = *interval;
  if (keys.has("attention.recurrent_layers")) {
    ANEMONE_ASSIGN_OR_RETURN(const std::vector<bool> are_linear,
                             keys.flags_of_layers("attention.recurrent_layers", blocks));
    json["layer_types"] = Json::array();
    for (std::int64_t i = 0; i < layers; ++i)
      json["layer_types"].push_back(are_linear[static_cast<std::size_t>(i)] ? "linear_attention"
                                                                            : "full_attention");
  }

  ANEMONE_ASSIGN_OR_RETURN(json["linear_conv_kernel_dim"], keys.required_size("ssm.conv_kernel"));
  ANEMONE_ASSIGN_OR_RETURN(json["linear_key_head_dim"], keys.required_size("ssm.state_size"));
  ANEMONE_ASSIGN_OR_RETURN(json["linear_num_key_heads"], keys.required_size("ssm.group_count"));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t heads, keys.required_size("ssm.time_step_rank"));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t width, keys.required_size("ssm.inner_size"));
  if (heads < 1 || width < 1 || width % heads != 0)
    return parse_error(
        "[{}] expected {}ssm.inner_size to be a multiple of {}ssm.time_step_rank, "
        "got {} and {}",
        keys.file().path(), keys.prefix(), keys.prefix(), width, heads);
  json["linear_num_value_heads"] = heads;
  json["linear_value_head_dim"] = width / heads;
  return {};
}

// The three sections of its rope are one and the same in a text.
Status read_qwen3_5(Keys& keys, Json& json) {
  keys.ignore("rope.dimension_sections");
  json["linear_value_heads_are_tiled"] = true;
  return {};
}

}  // namespace anemone::checkpoint::gguf
