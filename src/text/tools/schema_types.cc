// SPDX-License-Identifier: Apache-2.0
#include "text/tools/schema_types.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json_reference.h"

namespace anemone::text {
namespace {

// What people write takes a few of each.
constexpr std::size_t kMaxAlternatives = 64;
constexpr int kMaxNesting = 16;

// Unlike json_member(), finds a null: it may be the value of const.
const Json* own_member(const Json& schema, const char* key) {
  if (!schema.is_object()) return nullptr;
  const auto found = schema.find(key);
  return found == schema.end() ? nullptr : &*found;
}

std::string_view type_of(const Json& value) {
  if (value.is_number_integer()) return "integer";
  return value.type_name();
}

// Other names are none of a type, and there may be many of them.
constexpr std::array<std::string_view, 7> kTypes = {"null",   "boolean", "integer", "number",
                                                    "string", "array",   "object"};

void add_type(std::string_view type, std::vector<std::string>& types) {
  const bool is_type = std::ranges::find(kTypes, type) != kTypes.end();
  if (is_type && std::ranges::find(types, type) == types.end()) types.emplace_back(type);
}

}  // namespace

bool is_of_type(const Json& value, std::string_view type) {
  if (type == "integer") return value.is_number_integer();
  return value.type_name() == type;
}

bool is_of_any_type(const Json& value, const std::vector<std::string>& types) {
  return std::ranges::any_of(types,
                             [&](const std::string& type) { return is_of_type(value, type); });
}

std::vector<std::string> own_types(const Json& schema) {
  std::vector<std::string> out;
  const Json* type = own_member(schema, "type");
  if (type != nullptr && type->is_string()) add_type(type->get_ref<const std::string&>(), out);
  if (type != nullptr && type->is_array()) {
    for (const Json& item : *type)
      if (item.is_string()) add_type(item.get_ref<const std::string&>(), out);
  }
  if (type != nullptr) return out;
  if (const Json* value = own_member(schema, "const")) {
    add_type(type_of(*value), out);
  } else if (const Json* values = own_member(schema, "enum");
             values != nullptr && values->is_array()) {
    for (const Json& item : *values) add_type(type_of(item), out);
  }
  return out;
}

bool SchemaTypes::spend(std::size_t steps) {
  const bool has_enough = steps <= steps_left_;
  steps_left_ = has_enough ? steps_left_ - steps : 0;
  return has_enough;
}

const Json* SchemaTypes::target_of(const Json& reference) {
  if (!reference.is_string()) return nullptr;
  const auto& text = reference.get_ref<const std::string&>();
  if (!is_inner_reference(text) || !spend(text.size())) return nullptr;
  const auto steps = reference_steps(text);
  if (!steps) return nullptr;
  const Json* at = &root_;
  for (const std::string& step : *steps) {
    if (!spend(at->size())) return nullptr;
    at = json_step(*at, step);
    if (at == nullptr) break;
  }
  return at;
}

void SchemaTypes::add(const Json& schema, int depth, SchemaAlternatives& out) {
  constexpr std::size_t kStepsPerSchema = 20;
  if (!out.is_complete) return;
  std::size_t size = schema.size();
  for (const char* list : {"enum", "type"})
    if (const Json* values = own_member(schema, list)) size += values->size();
  if (!spend(kStepsPerSchema + size) || depth > kMaxNesting) {
    out.is_complete = false;
    return;
  }
  const bool says_types = own_member(schema, "type") != nullptr ||
                          own_member(schema, "enum") != nullptr ||
                          own_member(schema, "const") != nullptr;
  const Json* ways = nullptr;
  int count = 0;
  for (const char* keyword : {"anyOf", "oneOf", "allOf", "$ref"}) {
    const Json* found = own_member(schema, keyword);
    if (found == nullptr) continue;
    ways = found;
    ++count;
  }
  const Json* reference = own_member(schema, "$ref");
  const Json* all = own_member(schema, "allOf");
  // Several of them hold together, which no list of alternatives says.
  const bool is_simple = count == 1 && !says_types && (all == nullptr || all->size() == 1);
  if (is_simple && reference != nullptr) {
    if (const Json* target = target_of(*reference)) {
      out.around.push_back(&schema);
      return add(*target, depth + 1, out);
    }
  } else if (is_simple && ways->is_array() && !ways->empty()) {
    out.around.push_back(&schema);
    for (const Json& way : *ways) add(way, depth + 1, out);
    return;
  }
  if (out.schemas.size() == kMaxAlternatives)
    out.is_complete = false;
  else
    out.schemas.push_back(&schema);
}

SchemaAlternatives SchemaTypes::alternatives_of(const Json& schema) {
  SchemaAlternatives out;
  add(schema, 0, out);
  return out;
}

std::vector<std::string> SchemaTypes::types_of(const Json& schema) {
  const SchemaAlternatives alternatives = alternatives_of(schema);
  if (!alternatives.is_complete) return {};
  std::vector<std::string> out;
  for (const Json* way : alternatives.schemas) {
    const std::vector<std::string> types = own_types(*way);
    if (types.empty()) return {};
    for (const std::string& type : types) add_type(type, out);
  }
  return out;
}

}  // namespace anemone::text
