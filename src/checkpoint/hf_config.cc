// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/hf_config.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace anemone::checkpoint {
namespace {
constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMaxListItems = 1 << 16;
}  // namespace

Result<std::optional<double>> RopeSettings::number(std::string_view key) const {
  return json_number(*parameters, key, "config.json: rope parameters");
}

Result<HfConfig> HfConfig::read(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(Json json, read_json_file(path));
  return from_json(std::move(json), path);
}

Result<HfConfig> HfConfig::from_json(Json json, std::string subject) {
  if (!json.is_object())
    return parse_error("[{}] expected a JSON object, got {}", subject, json.type_name());
  HfConfig config;
  config.json_ = std::move(json);
  config.subject_ = std::move(subject);
  ANEMONE_ASSIGN_OR_RETURN(const auto type,
                           json_string(*config.json_, "model_type", config.subject_));
  if (!type) return parse_error("[{}] expected a key \"model_type\", got none", config.subject_);
  config.model_type_ = *type;
  return config;
}

bool HfConfig::is_null(std::string_view key) const {
  const auto it = json_->find(std::string(key));
  return it != json_->end() && it->is_null();
}

Result<std::int64_t> HfConfig::size(std::string_view key) const {
  if (!has(key)) return parse_error("[{}] expected a key \"{}\", got none", subject_, key);
  return size(key, 0);
}

Status HfConfig::refuse_null(std::string_view key) const {
  if (is_null(key)) return parse_error("[{}] expected a value for {}, got null", subject_, key);
  return {};
}

Result<std::int64_t> HfConfig::size(std::string_view key, std::int64_t fallback) const {
  ANEMONE_RETURN_IF_ERROR(refuse_null(key));
  ANEMONE_ASSIGN_OR_RETURN(const auto value, json_int(*json_, key, subject_));
  if (!value) return fallback;
  if (*value < 1 || *value > kMaxSize)
    return parse_error("[{}] expected {} to be between 1 and {}, got {}", subject_, key, kMaxSize,
                       *value);
  return *value;
}

Result<double> HfConfig::number(std::string_view key, double fallback) const {
  ANEMONE_RETURN_IF_ERROR(refuse_null(key));
  ANEMONE_ASSIGN_OR_RETURN(const auto value, json_number(*json_, key, subject_));
  return value.value_or(fallback);
}

Result<bool> HfConfig::boolean(std::string_view key, bool fallback) const {
  ANEMONE_RETURN_IF_ERROR(refuse_null(key));
  ANEMONE_ASSIGN_OR_RETURN(const auto value, json_bool(*json_, key, subject_));
  return value.value_or(fallback);
}

Result<std::string> HfConfig::text(std::string_view key, std::string_view fallback) const {
  ANEMONE_RETURN_IF_ERROR(refuse_null(key));
  ANEMONE_ASSIGN_OR_RETURN(const auto value, json_string(*json_, key, subject_));
  return value.value_or(std::string(fallback));
}

Result<std::optional<std::int64_t>> HfConfig::optional_integer(std::string_view key) const {
  return json_int(*json_, key, subject_);
}

Result<std::optional<std::vector<std::int64_t>>> HfConfig::integers(std::string_view key) const {
  const Json* list = json_member(*json_, key);
  if (list == nullptr) return std::optional<std::vector<std::int64_t>>();
  if (!list->is_array() || list->size() > kMaxListItems)
    return parse_error("[{}] expected {} to be a list of integers", subject_, key);
  std::vector<std::int64_t> out;
  for (const Json& item : *list) {
    if (!item.is_number_integer() && !item.is_boolean())
      return parse_error("[{}] expected {} to be a list of integers, got {}", subject_, key,
                         item.type_name());
    out.push_back(item.is_boolean() ? static_cast<std::int64_t>(item.get<bool>())
                                    : item.get<std::int64_t>());
  }
  return std::optional(std::move(out));
}

Result<std::optional<std::vector<std::string>>> HfConfig::texts(std::string_view key) const {
  const Json* list = json_member(*json_, key);
  if (list == nullptr) return std::optional<std::vector<std::string>>();
  if (!list->is_array() || list->size() > kMaxListItems)
    return parse_error("[{}] expected {} to be a list of strings", subject_, key);
  std::vector<std::string> out;
  for (const Json& item : *list) {
    if (!item.is_string())
      return parse_error("[{}] expected {} to be a list of strings, got {}", subject_, key,
                         item.type_name());
    out.push_back(item.get<std::string>());
  }
  return std::optional(std::move(out));
}

Result<std::vector<std::int64_t>> HfConfig::token_ids(std::string_view key) const {
  const Json* value = json_member(*json_, key);
  if (value == nullptr) return std::vector<std::int64_t>();
  if (value->is_number_integer()) return std::vector<std::int64_t>{value->get<std::int64_t>()};
  ANEMONE_ASSIGN_OR_RETURN(const auto list, integers(key));
  return *list;
}

std::optional<std::string> HfConfig::quantization() const {
  const Json* quantization = json_member(*json_, "quantization_config");
  if (quantization == nullptr || quantization->is_null()) return std::nullopt;
  const auto text = [&](std::string_view key) -> std::string {
    const Json* value = quantization->is_object() ? json_member(*quantization, key) : nullptr;
    return value != nullptr && value->is_string() ? value->get<std::string>() : "none";
  };
  std::string method = text("quant_method");
  const std::string algorithm = text("quant_algo");
  const bool is_nvfp4 =
      (method == "compressed-tensors" && text("format") == "nvfp4-pack-quantized") ||
      (method == "modelopt" && (algorithm == "NVFP4" || algorithm == "W4A16_NVFP4"));
  return is_nvfp4 ? "nvfp4" : method;
}

Result<RopeSettings> HfConfig::rope(double default_theta) const {
  RopeSettings rope;
  // transformers takes rope_scaling when it says anything, rope_parameters otherwise.
  const auto filled = [this](std::string_view key) {
    const Json* member = json_member(*json_, key);
    return member != nullptr && !(member->is_structured() && member->empty()) ? member : nullptr;
  };
  const Json* older = filled("rope_scaling");
  const Json* dictionary = older != nullptr ? older : filled("rope_parameters");
  const std::string where = subject_ + (older != nullptr ? ": rope_scaling" : ": rope_parameters");
  if (dictionary != nullptr) {
    if (!dictionary->is_object())
      return parse_error("[{}] expected an object, got {}", where, dictionary->type_name());
    rope.parameters = *dictionary;
    for (const auto& [key, value] : dictionary->items())
      if (value.is_object())
        return unsupported("[{}] expected one dictionary for all layers, got one for {}", where,
                           key);
    const std::string_view type_key = dictionary->contains("rope_type") ? "rope_type" : "type";
    for (const std::string_view key : {type_key, std::string_view("rope_theta")}) {
      const auto it = dictionary->find(std::string(key));
      if (it != dictionary->end() && it->is_null())
        return parse_error("[{}] expected a value for {}, got null", where, key);
    }
    ANEMONE_ASSIGN_OR_RETURN(const auto type, json_string(*dictionary, type_key, where));
    rope.type = type.value_or("default");
  }
  // A value beside the dictionary wins over the one in it, even if it is null.
  const auto original = json_->find("original_max_position_embeddings");
  if (original != json_->end()) (*rope.parameters)["original_max_position_embeddings"] = *original;
  ANEMONE_ASSIGN_OR_RETURN(auto theta, json_number(*rope.parameters, "rope_theta", where));
  if (!theta) {
    ANEMONE_RETURN_IF_ERROR(refuse_null("rope_theta"));
    ANEMONE_ASSIGN_OR_RETURN(theta, json_number(*json_, "rope_theta", subject_));
  }
  rope.theta = theta.value_or(default_theta);
  if (!(rope.theta > 0))
    return parse_error("[{}] expected rope_theta to be positive, got {}", subject_, rope.theta);
  ANEMONE_ASSIGN_OR_RETURN(auto partial,
                           json_number(*rope.parameters, "partial_rotary_factor", where));
  if (!partial) {
    ANEMONE_ASSIGN_OR_RETURN(partial, json_number(*json_, "partial_rotary_factor", subject_));
  }
  rope.partial_rotary_factor = partial.value_or(1.0);
  if (!(rope.partial_rotary_factor > 0 && rope.partial_rotary_factor <= 1))
    return parse_error("[{}] expected partial_rotary_factor in (0, 1], got {}", subject_,
                       rope.partial_rotary_factor);
  return rope;
}

}  // namespace anemone::checkpoint
