// SPDX-License-Identifier: Apache-2.0
#include "grammar/json/schema_merge.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/escape.h"
#include "base/json_reference.h"
#include "grammar/json/schema_keywords.h"

namespace anemone::grammar {
namespace {

constexpr int kMaxReferences = 64;  // of references and allOf inside each other
constexpr std::size_t kMaxPairs = 256;

const Json& member_or(const Json& object, const char* key, const Json& absent) {
  const auto found = object.find(key);
  return found == object.end() ? absent : *found;
}

bool is_lower_bound(std::string_view keyword) {
  return keyword == "minimum" || keyword == "exclusiveMinimum" || keyword == "minLength" ||
         keyword == "minItems" || keyword == "minProperties";
}
bool is_upper_bound(std::string_view keyword) {
  return keyword == "maximum" || keyword == "exclusiveMaximum" || keyword == "maxLength" ||
         keyword == "maxItems" || keyword == "maxProperties";
}

// The values of an enum that another has too. Time n log n, because an enum may be long.
Json common_values(const Json& a, const Json& b) {
  std::set<std::string> others;
  for (const Json& value : b) others.insert(dump_json(value));
  Json out = Json::array();
  for (const Json& value : a)
    if (others.contains(dump_json(value))) out.push_back(value);
  return out;
}

// About what copying a schema costs, in nanoseconds.
std::size_t cost_of(const Json& schema) {
  std::size_t cost = 200;
  for (const char* keyword : {"enum", "properties", "required", "anyOf", "oneOf", "prefixItems"}) {
    const auto found = schema.is_object() ? schema.find(keyword) : schema.end();
    if (schema.is_object() && found != schema.end()) cost += found->size() * 300;
  }
  return cost;
}

}  // namespace

Json both_of(const Json& a, const Json& b) {
  if (a.is_boolean()) return a.get<bool>() ? b : a;
  if (b.is_boolean()) return b.get<bool>() ? a : b;
  Json out = Json::object();
  out["allOf"] = Json::array({a, b});
  return out;
}

Result<const Json*> SchemaMerger::resolve(const Json& reference, const std::string& pointer) {
  const std::string subject = schema_subject(child_pointer(pointer, "$ref"));
  if (!reference.is_string())
    return parse_error("[{}] expected a text, got {}", subject, reference.type_name());
  const auto& text = reference.get_ref<const std::string&>();
  if (!is_inner_reference(text))
    return unsupported("[{}] expected a reference within the schema (#/...), got {}", subject,
                       shortened(text, 200));
  const auto steps = reference_steps(text);
  if (!steps)
    return parse_error("[{}] expected % and two hex digits, got {}", subject, shortened(text, 200));
  const Json* at = &root_;
  for (const std::string& step : *steps) {
    if (at->is_object())
      ANEMONE_RETURN_IF_ERROR(work_.spend(at->size() * 10));  // names are compared one by one
    at = json_step(*at, step);
    if (at == nullptr)
      return parse_error("[{}] expected the place {}, which the schema does not have", subject,
                         shortened(text, 200));
  }
  return at;
}

Result<Json> SchemaMerger::flatten(const Json& schema, const std::string& pointer,
                                   bool follows_references) {
  ANEMONE_RETURN_IF_ERROR(work_.spend(cost_of(schema) + schema.size() * 100));
  if (schema.is_boolean()) {
    Json out = Json::object();
    if (!schema.get<bool>()) out["enum"] = Json::array();
    return out;
  }
  if (!schema.is_object())
    return parse_error("[{}] expected an object or a boolean, got {}", schema_subject(pointer),
                       schema.type_name());
  ANEMONE_RETURN_IF_ERROR(check_keywords(schema, pointer));
  const auto reference = schema.find("$ref");
  const auto all = schema.find("allOf");
  Json out = Json::object();
  for (const auto& [keyword, value] : schema.items())
    if (is_followed(keyword)) append_member(out, keyword, Json(value));
  if (all == schema.end() && reference == schema.end()) return out;
  if (all == schema.end() && out.empty() && !follows_references) {
    out["$ref"] = *reference;
    return out;
  }
  if (++depth_ > kMaxReferences)
    return unsupported("[{}] expected references and allOf at most {} deep, got more",
                       schema_subject(pointer), kMaxReferences);
  if (reference != schema.end()) {
    ANEMONE_ASSIGN_OR_RETURN(const Json* target, resolve(*reference, pointer));
    ANEMONE_ASSIGN_OR_RETURN(const Json other,
                             flatten(*target, child_pointer(pointer, "$ref"), true));
    ANEMONE_ASSIGN_OR_RETURN(out, merge(out, other, pointer));
  }
  if (all != schema.end()) {
    const std::string at = child_pointer(pointer, "allOf");
    if (!all->is_array() || all->empty())
      return parse_error("[{}] expected an array of schemas, got {}", schema_subject(at),
                         all->type_name());
    for (std::size_t i = 0; i < all->size(); ++i) {
      const std::string place = child_pointer(at, std::to_string(i));
      ANEMONE_ASSIGN_OR_RETURN(const Json other, flatten((*all)[i], place, true));
      ANEMONE_ASSIGN_OR_RETURN(out, merge(out, other, place));
    }
  }
  --depth_;
  return out;
}

Result<Json> SchemaMerger::merge(const Json& a, const Json& b, const std::string& pointer) {
  ANEMONE_RETURN_IF_ERROR(work_.spend(cost_of(a) + cost_of(b)));
  const auto has_items = [](const Json& schema) {
    return schema.contains("items") || schema.contains("prefixItems");
  };
  if ((a.contains("prefixItems") || b.contains("prefixItems")) && has_items(a) && has_items(b))
    return unsupported("[{}] expected schemas of allOf that can be merged, got two of items",
                       schema_subject(pointer));
  const auto has_members = [](const Json& schema) {
    return schema.contains("properties") || schema.contains("additionalProperties") ||
           schema.contains("patternProperties");
  };
  if ((a.contains("patternProperties") || b.contains("patternProperties")) && has_members(a) &&
      has_members(b))
    return unsupported(
        "[{}] expected schemas of allOf that can be merged, got patternProperties and others",
        schema_subject(pointer));
  Json out = a;
  ANEMONE_RETURN_IF_ERROR(merge_properties(out, b));
  for (const auto& [keyword, value] : b.items()) {
    if (keyword == "properties" || keyword == "additionalProperties") continue;
    if (keyword == "const" || keyword == "enum") continue;
    if (!out.contains(keyword)) {
      out[keyword] = value;
    } else if (out[keyword] != value) {
      ANEMONE_RETURN_IF_ERROR(merge_keyword(out, keyword, value, pointer));
    }
  }
  // const is an enum of one value.
  for (const char* keyword : {"const", "enum"}) {
    const auto found = b.find(keyword);
    if (found == b.end()) continue;
    Json values = std::string_view(keyword) == "const" ? Json::array({*found}) : *found;
    if (const auto mine = out.find("const"); mine != out.end()) {
      values = common_values(Json::array({*mine}), values);
      out.erase("const");
    }
    if (const auto mine = out.find("enum"); mine != out.end())
      values = common_values(*mine, values);
    out["enum"] = std::move(values);
  }
  return out;
}

Status SchemaMerger::merge_properties(Json& out, const Json& b) {
  const Json none = Json::object();
  const Json all = true;
  if (!b.contains("properties") && !b.contains("additionalProperties")) return {};
  const Json a_named = member_or(out, "properties", none);
  const Json& b_named = member_or(b, "properties", none);
  if (!a_named.is_object() || !b_named.is_object()) return {};  // found when it is compiled
  const Json a_others = member_or(out, "additionalProperties", all);
  const Json& b_others = member_or(b, "additionalProperties", all);
  // A property that one schema does not name is one of its additional ones. A map for the names: an
  // object looks for them one by one.
  std::set<std::string_view> names_of_a;
  std::set<std::string_view> names_of_b;
  for (const auto& [name, schema] : a_named.items()) names_of_a.insert(name);
  for (const auto& [name, schema] : b_named.items()) names_of_b.insert(name);
  ANEMONE_RETURN_IF_ERROR(work_.spend((a_named.size() + b_named.size()) * 500));
  Json named = Json::object();
  for (const auto& [name, schema] : a_named.items()) {
    const bool is_in_both = names_of_b.contains(name);
    if (is_in_both) ANEMONE_RETURN_IF_ERROR(work_.spend(b_named.size() * 10));
    append_member(named, name, both_of(schema, is_in_both ? b_named[name] : b_others));
  }
  for (const auto& [name, schema] : b_named.items())
    if (!names_of_a.contains(name)) append_member(named, name, both_of(a_others, schema));
  if (!named.empty()) out["properties"] = std::move(named);
  if (out.contains("additionalProperties") || b.contains("additionalProperties"))
    out["additionalProperties"] = both_of(a_others, b_others);
  return {};
}

Status SchemaMerger::merge_keyword(Json& out, const std::string& keyword, const Json& value,
                                   const std::string& pointer) {
  Json& mine = out[keyword];
  const auto refuse = [&] {
    return unsupported("[{}] expected schemas of allOf that can be merged, got two of {}",
                       schema_subject(pointer), keyword);
  };
  if (keyword == "type") {
    ANEMONE_ASSIGN_OR_RETURN(const JsonTypes a, types_of(out, pointer));
    Json other = Json::object();
    other["type"] = value;
    ANEMONE_ASSIGN_OR_RETURN(const JsonTypes b, types_of(other, pointer));
    Json types = Json::array();
    for (const auto& [bit, name] :
         {std::pair(kNullType, "null"), std::pair(kBooleanType, "boolean"),
          std::pair(kStringType, "string"), std::pair(kArrayType, "array"),
          std::pair(kObjectType, "object"), std::pair(kNumberType, "number")})
      if ((a & b & bit) != 0) types.push_back(name);
    if ((a & b & kIntegerType) != 0 && (a & b & kNumberType) == 0) types.push_back("integer");
    mine = std::move(types);
    return {};
  }
  if (keyword == "required") {
    if (!mine.is_array() || !value.is_array()) return refuse();
    std::set<std::string> names;
    for (const Json& name : mine) names.insert(dump_json(name));
    for (const Json& name : value)
      if (names.insert(dump_json(name)).second) mine.push_back(name);
    return {};
  }
  if (is_lower_bound(keyword) || is_upper_bound(keyword)) {
    if (!mine.is_number() || !value.is_number()) return refuse();
    if (is_lower_bound(keyword) == (mine < value)) mine = value;
    return {};
  }
  if (keyword == "uniqueItems") {
    mine = true;
    return {};
  }
  if (keyword == "items") {
    mine = both_of(mine, value);
    return {};
  }
  if (keyword == "anyOf" && mine.is_array() && value.is_array() &&
      mine.size() * value.size() <= kMaxPairs) {
    Json pairs = Json::array();
    for (const Json& a : mine)
      for (const Json& b : value) pairs.push_back(both_of(a, b));
    ANEMONE_RETURN_IF_ERROR(work_.spend(pairs.size() * 1000));
    mine = std::move(pairs);
    return {};
  }
  return refuse();
}

}  // namespace anemone::grammar
