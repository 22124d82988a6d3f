// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/gguf/gguf_keys.h"

namespace anemone::checkpoint::gguf {
namespace {

Status read_heads(Keys& keys, Json& json) {
  const GgufFile& file = keys.file();
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t heads, keys.required_size("attention.head_count"));
  if (heads < 1)
    return parse_error("[{}] expected {}attention.head_count of at least 1, got {}", file.path(),
                       keys.prefix(), heads);
  json["num_attention_heads"] = heads;
  // Layers without attention have none.
  const auto layers = json["num_hidden_layers"].get<std::int64_t>();
  ANEMONE_ASSIGN_OR_RETURN(const auto of_layers, keys.of_layers("attention.head_count_kv", layers));
  std::int64_t kv_heads = heads;
  if (of_layers && !of_layers->empty()) {
    kv_heads = std::ranges::max(*of_layers);
    for (const std::int64_t count : *of_layers)
      if (count != kv_heads && count != 0)
        return unsupported("[{}] expected {}attention.head_count_kv to be the same for every layer",
                           file.path(), keys.prefix());
    if (std::ranges::find(*of_layers, 0) != of_layers->end() && !json.contains("layer_types"))
      return unsupported(
          "[{}] expected attention in every layer, got 0 heads in {}"
          "attention.head_count_kv",
          file.path(), keys.prefix());
  }
  json["num_key_value_heads"] = kv_heads;
  ANEMONE_ASSIGN_OR_RETURN(const auto key_length, keys.size("attention.key_length"));
  const std::int64_t head_dim =
      key_length.value_or(json["hidden_size"].get<std::int64_t>() / heads);
  json["head_dim"] = head_dim;
  ANEMONE_ASSIGN_OR_RETURN(const auto value_length, keys.size("attention.value_length"));
  if (value_length.value_or(head_dim) != head_dim)
    return unsupported(
        "[{}] expected {}attention.value_length to be {}, the length of a head, "
        "got {}",
        file.path(), keys.prefix(), head_dim, *value_length);
  return {};
}

Status read_sizes(Keys& keys, Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(json["hidden_size"], keys.required_size("embedding_length"));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t layers, keys.required_size("block_count"));
  if (layers < 1 || layers > static_cast<std::int64_t>(keys.file().tensors().size()))
    return corrupt("[{}] expected {}block_count from 1 to the number of tensors, got {}",
                   keys.file().path(), keys.prefix(), layers);
  json["num_hidden_layers"] = layers;
  ANEMONE_ASSIGN_OR_RETURN(json["max_position_embeddings"], keys.required_size("context_length"));
  const TensorInfo* embedding = keys.file().find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2)
    return corrupt("[{}] expected a matrix token_embd.weight, got none", keys.file().path());
  json["vocab_size"] = embedding->shape.front();
  ANEMONE_ASSIGN_OR_RETURN(json["rms_norm_eps"],
                           keys.required_number("attention.layer_norm_rms_epsilon"));
  return {};
}

Status read_rope(Keys& keys, bool has_partial_rotary, Json& json) {
  const GgufFile& file = keys.file();
  const auto head_dim = json["head_dim"].get<std::int64_t>();
  ANEMONE_ASSIGN_OR_RETURN(const auto dim, keys.size("rope.dimension_count"));
  const std::int64_t rotary = dim.value_or(head_dim);
  if (rotary != head_dim) {
    if (!has_partial_rotary || rotary < 2 || rotary > head_dim)
      return unsupported(
          "[{}] expected {}rope.dimension_count to be {}, the length of a head, "
          "got {}",
          file.path(), keys.prefix(), head_dim, rotary);
    json["partial_rotary_factor"] = static_cast<double>(rotary) / static_cast<double>(head_dim);
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto theta, keys.number("rope.freq_base"));
  json["rope_theta"] = theta.value_or(10000);
  ANEMONE_ASSIGN_OR_RETURN(const auto type, keys.text("rope.scaling.type"));
  // What each frequency is divided by (Llama 3).
  std::vector<float> divisors;
  if (const TensorInfo* tensor = file.find("rope_freqs.weight")) {
    ANEMONE_ASSIGN_OR_RETURN(divisors, read_factors(file, *tensor, head_dim / 2));
  }
  Json scaling = Json::object();
  const auto number = [&](std::string_view name, const char* as) -> Status {
    ANEMONE_ASSIGN_OR_RETURN(const auto value, keys.number(name));
    if (value) scaling[as] = *value;
    return {};
  };
  ANEMONE_RETURN_IF_ERROR(number("rope.scaling.factor", "factor"));
  ANEMONE_RETURN_IF_ERROR(
      number("rope.scaling.original_context_length", "original_max_position_embeddings"));
  ANEMONE_RETURN_IF_ERROR(number("rope.scaling.yarn_beta_fast", "beta_fast"));
  ANEMONE_RETURN_IF_ERROR(number("rope.scaling.yarn_beta_slow", "beta_slow"));
  const std::string_view kind = type.value_or("none");
  if (kind == "none") {
    if (divisors.empty()) return {};
    scaling = {{"rope_type", "divided"}, {"divisors", divisors}};
  } else if ((kind == "linear" || kind == "yarn") && divisors.empty()) {
    scaling["rope_type"] = kind;
  } else {
    return unsupported("[{}] expected {}rope.scaling.type to be none, linear or yarn{}, got {}",
                       file.path(), keys.prefix(),
                       divisors.empty() ? "" : " (none beside rope_freqs.weight)", kind);
  }
  json["rope_scaling"] = std::move(scaling);
  return {};
}

Status read_token_ids(const Metadata& metadata, Json& json) {
  for (const char* name : {"bos_token_id", "eos_token_id"}) {
    ANEMONE_ASSIGN_OR_RETURN(const auto id,
                             metadata.integer(fmt::format("tokenizer.ggml.{}", name)));
    json[name] = id ? Json(*id) : Json();
  }
  return {};
}

}  // namespace

Result<HfConfig> make_config(const GgufFile& file, const GgufArchitecture& architecture) {
  Json json = {{"model_type", architecture.model_type}};
  Keys keys(file, architecture.name);
  ANEMONE_RETURN_IF_ERROR(read_sizes(keys, json));
  if (architecture.read_layers != nullptr)
    ANEMONE_RETURN_IF_ERROR(architecture.read_layers(keys, json));
  if (architecture.read_attention != nullptr) {
    ANEMONE_RETURN_IF_ERROR(architecture.read_attention(keys, json));
  } else {
    ANEMONE_ASSIGN_OR_RETURN(json["intermediate_size"], keys.required_size("feed_forward_length"));
    ANEMONE_RETURN_IF_ERROR(read_heads(keys, json));
    ANEMONE_RETURN_IF_ERROR(read_rope(keys, architecture.has_partial_rotary, json));
  }
  ANEMONE_RETURN_IF_ERROR(read_token_ids(file.metadata(), json));
  json["tie_word_embeddings"] = file.find("output.weight") == nullptr;
  // Searches all layers: the first ones may be of another kind.
  const auto has = [&](std::string_view ending) {
    return std::ranges::any_of(file.tensors(),
                               [&](const auto& named) { return named.first.ends_with(ending); });
  };
  json["attention_bias"] = has(".attn_q.bias");
  json["mlp_bias"] = has(".ffn_up.bias");
  if (architecture.read_more != nullptr)
    ANEMONE_RETURN_IF_ERROR(architecture.read_more(keys, json));
  for (const char* name : {"vocab_size", "rope.scaling.finetuned", "tensor_data_layout"})
    keys.ignore(name);
  ANEMONE_RETURN_IF_ERROR(keys.refuse_the_rest());
  return HfConfig::from_json(std::move(json), file.path());
}

Result<Json> make_generation_config(const GgufFile& file) {
  Json ends = Json::array();
  for (const char* name : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    ANEMONE_ASSIGN_OR_RETURN(const auto id,
                             file.metadata().integer(fmt::format("tokenizer.ggml.{}", name)));
    if (id && std::ranges::find(ends, Json(*id)) == ends.end()) ends.push_back(*id);
  }
  Json json = Json::object();
  if (!ends.empty()) json["eos_token_id"] = std::move(ends);
  constexpr std::pair<const char*, const char*> kSampling[] = {
      {"temp", "temperature"},
      {"top_k", "top_k"},
      {"top_p", "top_p"},
      {"min_p", "min_p"},
      {"penalty_repeat", "repetition_penalty"},
  };
  for (const auto& [name, as] : kSampling) {
    const std::string key = fmt::format("general.sampling.{}", name);
    ANEMONE_ASSIGN_OR_RETURN(const auto value, file.metadata().number(key));
    if (!value) continue;
    const bool is_whole = std::string_view(name) == "top_k";
    if (is_whole) {
      ANEMONE_ASSIGN_OR_RETURN(const auto whole, file.metadata().integer(key));
      json[as] = *whole;
    } else {
      json[as] = *value;
    }
  }
  // The converter writes these where the model is meant to be sampled.
  if (json.contains("temperature")) json["do_sample"] = true;
  return json;
}

}  // namespace anemone::checkpoint::gguf
