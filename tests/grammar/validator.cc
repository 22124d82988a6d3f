// SPDX-License-Identifier: Apache-2.0
#include "tests/grammar/validator.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

namespace anemone::grammar {
namespace {

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer")
    return value.is_number_integer() ||
           (value.is_number_float() && std::floor(value.get<double>()) == value.get<double>());
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

std::size_t code_points(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool is_valid_number(const Json& value, const Json& schema) {
  const double number = value.get<double>();
  const auto bound = [&](const char* keyword, double absent) {
    return schema.contains(keyword) ? schema[keyword].get<double>() : absent;
  };
  if (number < bound("minimum", number) || number > bound("maximum", number)) return false;
  if (number <= bound("exclusiveMinimum", number - 1 - std::abs(number))) return false;
  if (number >= bound("exclusiveMaximum", number + 1 + std::abs(number))) return false;
  if (!schema.contains("multipleOf")) return true;
  const double steps = number / schema["multipleOf"].get<double>();
  return std::abs(steps - std::round(steps)) <= 1e-9 * std::max(1.0, std::abs(steps));
}

bool is_valid_string(const std::string& text, const Json& schema) {
  const std::size_t length = code_points(text);
  if (length < schema.value("minLength", 0U) || length > schema.value("maxLength", 1U << 30))
    return false;
  return !schema.contains("pattern") ||
         std::regex_search(text, std::regex(schema["pattern"].get<std::string>()));
}

bool is_valid_array(const Json& value, const Json& schema, const Json& root) {
  if (value.size() < schema.value("minItems", 0U) ||
      value.size() > schema.value("maxItems", 1U << 30))
    return false;
  const Json first = schema.value("prefixItems", Json::array());
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (i < first.size() && !is_valid(value[i], first[i], root)) return false;
    if (i >= first.size() && schema.contains("items") && !is_valid(value[i], schema["items"], root))
      return false;
  }
  return true;
}

bool is_valid_object(const Json& value, const Json& schema, const Json& root) {
  if (schema.contains("required"))
    for (const Json& name : schema["required"])
      if (!value.contains(name.get<std::string>())) return false;
  if (value.size() < schema.value("minProperties", 0U) ||
      value.size() > schema.value("maxProperties", 1U << 30))
    return false;
  const Json named = schema.value("properties", Json::object());
  for (const auto& [name, member] : value.items()) {
    if (named.contains(name)) {
      if (!is_valid(member, named[name], root)) return false;
    } else if (schema.contains("additionalProperties") &&
               !is_valid(member, schema["additionalProperties"], root)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool is_valid(const Json& value, const Json& schema, const Json& root) {
  if (schema.is_boolean()) return schema.get<bool>();
  if (schema.contains("$ref")) {
    const std::string target = schema["$ref"].get<std::string>().substr(1);
    if (!is_valid(value, root[Json::json_pointer(target)], root)) return false;
  }
  if (schema.contains("type")) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    if (std::none_of(types.begin(), types.end(),
                     [&](const Json& type) { return has_type(value, type.get<std::string>()); }))
      return false;
  }
  if (schema.contains("const") && schema["const"] != value) return false;
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
    return false;
  const auto count_valid = [&](const char* keyword) {
    return std::count_if(schema[keyword].begin(), schema[keyword].end(),
                         [&](const Json& part) { return is_valid(value, part, root); });
  };
  if (schema.contains("anyOf") && count_valid("anyOf") == 0) return false;
  if (schema.contains("oneOf") && count_valid("oneOf") != 1) return false;
  if (schema.contains("allOf") &&
      count_valid("allOf") != static_cast<std::ptrdiff_t>(schema["allOf"].size()))
    return false;
  if (value.is_number()) return is_valid_number(value, schema);
  if (value.is_string()) return is_valid_string(value.get<std::string>(), schema);
  if (value.is_array()) return is_valid_array(value, schema, root);
  return !value.is_object() || is_valid_object(value, schema, root);
}

}  // namespace anemone::grammar
