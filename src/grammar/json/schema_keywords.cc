// SPDX-License-Identifier: Apache-2.0
#include "grammar/json/schema_keywords.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/escape.h"

namespace anemone::grammar {
namespace {

// Keywords of the standard and its earlier drafts that a grammar cannot follow.
constexpr std::string_view kRefused[] = {
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependentRequired",
    "dependencies",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "minContains",
    "maxContains",
    "$dynamicRef",
    "$recursiveRef",

    "additionalItems",
};

constexpr std::string_view kFollowed[] = {
    "type",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "properties",
    "required",
    "additionalProperties",
    "propertyNames",
    "patternProperties",
    "minProperties",
    "maxProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
};

constexpr std::pair<std::string_view, JsonTypes> kTypeNames[] = {
    {"null", kNullType},       {"boolean", kBooleanType},
    {"integer", kIntegerType}, {"number", kNumberType | kIntegerType},
    {"string", kStringType},   {"array", kArrayType},
    {"object", kObjectType},
};

Result<JsonTypes> type_named(const Json& name, const std::string& pointer) {
  if (name.is_string())
    for (const auto& [known, types] : kTypeNames)
      if (name.get_ref<const std::string&>() == known) return types;
  return parse_error("[{}] expected the name of a JSON type, got {}", schema_subject(pointer),
                     shortened(dump_json(name), 100));
}

// A refused keyword with a value that demands nothing.
bool demands_nothing(std::string_view keyword, const Json& value) {
  if (value.is_boolean()) return value.get<bool>() && keyword != "not";
  if (keyword == "dependentSchemas" || keyword == "dependentRequired" || keyword == "dependencies")
    return value.is_object() && value.empty();
  return false;
}

}  // namespace

std::string schema_subject(const std::string& pointer) {
  return "schema " + shortened(pointer, 200);
}

std::string child_pointer(const std::string& pointer, std::string_view key) {
  std::string out = pointer + "/";
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out.push_back(c);
  }
  return out;
}

bool is_followed(std::string_view keyword) {
  return std::find(std::begin(kFollowed), std::end(kFollowed), keyword) != std::end(kFollowed);
}

Status check_keywords(const Json& schema, const std::string& pointer) {
  for (const auto& [keyword, value] : schema.items()) {
    const bool is_refused =
        std::find(std::begin(kRefused), std::end(kRefused), keyword) != std::end(kRefused);
    if (is_refused && !demands_nothing(keyword, value))
      return unsupported("[{}] expected a schema without the keyword {}, which is not supported",
                         schema_subject(child_pointer(pointer, keyword)), keyword);
    if (keyword == "$id" && pointer != "#")
      return unsupported("[{}] expected $id at the root alone",
                         schema_subject(child_pointer(pointer, keyword)));
  }
  return {};
}

Result<JsonTypes> types_of(const Json& schema, const std::string& pointer) {
  const auto found = schema.find("type");
  if (found == schema.end()) return kAllTypes;
  const std::string at = child_pointer(pointer, "type");
  if (!found->is_array()) return type_named(*found, at);
  JsonTypes types = 0;
  for (const Json& name : *found) {
    ANEMONE_ASSIGN_OR_RETURN(const JsonTypes one, type_named(name, at));
    types |= one;
  }
  return types;
}

JsonTypes type_of_value(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return kNullType;
    case Json::value_t::boolean:
      return kBooleanType;
    case Json::value_t::string:
      return kStringType;
    case Json::value_t::array:
      return kArrayType;
    case Json::value_t::object:
      return kObjectType;
    case Json::value_t::number_float: {
      const double number = value.get<double>();
      return number == std::floor(number) ? kIntegerType : kNumberType;
    }
    default:
      return kIntegerType;
  }
}

}  // namespace anemone::grammar
