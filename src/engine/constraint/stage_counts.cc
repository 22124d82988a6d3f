// SPDX-License-Identifier: Apache-2.0
#include "engine/constraint/stage_counts.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace anemone::engine {
namespace {

constexpr std::string_view kSubject = "structured_cot";
constexpr std::string_view kEachField = "field_token_counts";

struct Member {
  std::string_view name;
  std::int64_t StageCounts::*value;
};
constexpr std::array kMembers = {Member{"forced_tokens", &StageCounts::forced_tokens},
                                 Member{"field_content_tokens", &StageCounts::field_content_tokens},
                                 Member{"field_newline_tokens", &StageCounts::field_newline_tokens},
                                 Member{"open_tokens", &StageCounts::open_tokens},
                                 Member{"fields_completed", &StageCounts::fields_completed},
                                 Member{"active_stage", &StageCounts::active_stage}};

}  // namespace

Json stage_counts_json(const StageCounts& counts) {
  Json out = Json::object();
  if (!counts.name.empty()) out["name"] = counts.name;
  for (const auto& [name, value] : kMembers) out[std::string(name)] = counts.*value;
  out[std::string(kEachField)] = counts.field_token_counts;
  return out;
}

Result<StageCounts> parse_stage_counts(const Json& json) {
  if (!json.is_object())
    return parse_error("[{}] expected an object, got {}", kSubject, json.type_name());
  StageCounts out;
  ANEMONE_ASSIGN_OR_RETURN(auto given, json_string(json, "name", kSubject));
  out.name = std::move(given).value_or("");
  for (const auto& [name, value] : kMembers) {
    ANEMONE_ASSIGN_OR_RETURN(const auto number, json_int(json, name, kSubject));
    if (!number) return parse_error("[{}] expected {}, got none", kSubject, name);
    out.*value = *number;
  }
  const Json* list = json_member(json, kEachField);
  if (list == nullptr || !list->is_array())
    return parse_error("[{}] expected a list as {}, got another value", kSubject, kEachField);
  for (const Json& number : *list) {
    if (!number.is_number_integer())
      return parse_error("[{}] expected integers in {}, got {}", kSubject, kEachField,
                         number.type_name());
    out.field_token_counts.push_back(number.get<std::int64_t>());
  }
  return out;
}

}  // namespace anemone::engine
