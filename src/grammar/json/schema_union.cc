// SPDX-License-Identifier: Apache-2.0
// Alternatives (anyOf, oneOf) and listed values (enum, const).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/escape.h"
#include "grammar/automaton/matcher.h"
#include "grammar/json/schema_compiler.h"

namespace anemone::grammar {
namespace {

constexpr int kMaxValueDepth = 100;     // of a value of an enum
constexpr std::size_t kMaxOneOf = 200;  // each pair of them is compared
constexpr int kMaxDisjointDepth = 8;

Json listed(const Json& schema) {
  const auto one = schema.find("const");
  if (one == schema.end()) return schema["enum"];
  const Json values = Json::array({*one});
  const auto list = schema.find("enum");
  if (list == schema.end()) return values;
  for (const Json& value : *list)
    if (value == *one) return values;
  return Json::array();
}

// 2.0 is the integer 2.
std::string scalar_text(const Json& value) {
  if (value.is_number_float() && type_of_value(value) == kIntegerType &&
      std::abs(value.get<double>()) < 1e15)
    return std::to_string(static_cast<std::int64_t>(value.get<double>()));
  return dump_json(value);
}

}  // namespace

Result<NodeId> SchemaCompiler::alternatives(const Json& schema, const std::string& keyword,
                                            const std::string& pointer) {
  const std::string at = child_pointer(pointer, keyword);
  const Json& list = schema[keyword];
  if (!list.is_array() || list.empty())
    return parse_error("[{}] expected an array of schemas, got {}", schema_subject(at),
                       list.is_array() ? "an empty one" : list.type_name());
  Json rest = schema;
  rest.erase(keyword);
  if (keyword == "oneOf" && list.size() > kMaxOneOf)
    return unsupported("[{}] expected at most {} alternatives, got {}", schema_subject(at),
                       kMaxOneOf, list.size());
  const auto place_of = [&](std::size_t i) { return child_pointer(at, std::to_string(i)); };
  std::vector<Json> flat;
  if (keyword == "oneOf" || !rest.empty())
    for (std::size_t i = 0; i < list.size(); ++i) {
      ANEMONE_ASSIGN_OR_RETURN(Json one, merger_.flatten(list[i], place_of(i), true));
      flat.push_back(std::move(one));
    }
  if (keyword == "oneOf") ANEMONE_RETURN_IF_ERROR(check_disjoint(flat, at));
  std::vector<NodeId> ways;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = place_of(i);
    if (rest.empty()) {
      ANEMONE_ASSIGN_OR_RETURN(const NodeId values, values_of(list[i], place));
      ways.push_back(values);
      continue;
    }
    // What stands beside the alternatives holds for each.
    ANEMONE_ASSIGN_OR_RETURN(const Json both, merger_.merge(rest, flat[i], place));
    ANEMONE_ASSIGN_OR_RETURN(const NodeId values, values_of(both, place));
    ways.push_back(values);
  }
  return rule(at, builder_.choice(ways));
}

Status SchemaCompiler::check_disjoint(const std::vector<Json>& alternatives,
                                      const std::string& pointer) {
  for (std::size_t i = 0; i < alternatives.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      ANEMONE_ASSIGN_OR_RETURN(const bool are_apart,
                               are_disjoint(alternatives[j], alternatives[i], pointer, 0));
      if (!are_apart)
        return unsupported(
            "[{}] expected alternatives that exclude each other by type, by listed values or by a "
            "required property, got {} and {}: anyOf takes them",
            schema_subject(pointer), j, i);
    }
  return {};
}

Result<bool> SchemaCompiler::are_disjoint(const Json& a, const Json& b, const std::string& pointer,
                                          int depth) {
  ANEMONE_RETURN_IF_ERROR(work_.spend(2000));
  ANEMONE_ASSIGN_OR_RETURN(JsonTypes types_a, types_of(a, pointer));
  ANEMONE_ASSIGN_OR_RETURN(JsonTypes types_b, types_of(b, pointer));
  const auto is_listed = [](const Json& schema) {
    return schema.contains("const") || (schema.contains("enum") && schema["enum"].is_array());
  };
  const auto narrow = [&](const Json& schema, JsonTypes& types) {
    if (!is_listed(schema)) return;
    JsonTypes listed_types = 0;
    for (const Json& value : listed(schema)) listed_types |= type_of_value(value);
    types &= listed_types;
  };
  narrow(a, types_a);
  narrow(b, types_b);
  const JsonTypes common = types_a & types_b;
  if (common == 0) return true;
  if (is_listed(a) && is_listed(b)) {
    const Json values = listed(b);
    ANEMONE_RETURN_IF_ERROR(work_.spend(values.size() * 300 + listed(a).size() * 300));
    const Json others = listed(a);
    // Equal values of these may be written in several ways: 2 and 2.0, members in another order.
    const auto has_several_texts = [](const Json& value) {
      return value.is_structured() || value.is_number_float();
    };
    if (std::ranges::any_of(values, has_several_texts) ||
        std::ranges::any_of(others, has_several_texts))
      return false;
    std::set<std::string> texts;
    for (const Json& value : values) texts.insert(dump_json(value));
    return std::none_of(others.begin(), others.end(),
                        [&](const Json& value) { return texts.contains(dump_json(value)); });
  }
  if (common != kObjectType || depth == kMaxDisjointDepth) return false;
  if (!a.contains("properties") || !b.contains("properties")) return false;
  const auto is_required = [](const Json& schema, const std::string& name) {
    const auto found = schema.find("required");
    return found != schema.end() && found->is_array() &&
           std::find(found->begin(), found->end(), Json(name)) != found->end();
  };
  for (const auto& [name, schema] : a["properties"].items()) {
    const auto names_of = [](const Json& one) {
      return one["properties"].size() + (one.contains("required") ? one["required"].size() : 0);
    };
    ANEMONE_RETURN_IF_ERROR(work_.spend((names_of(a) + names_of(b)) * 20));
    const auto other = b["properties"].find(name);
    if (other == b["properties"].end() || !is_required(a, name) || !is_required(b, name)) continue;
    ANEMONE_ASSIGN_OR_RETURN(const Json first, merger_.flatten(schema, pointer, true));
    ANEMONE_ASSIGN_OR_RETURN(const Json second, merger_.flatten(*other, pointer, true));
    ANEMONE_ASSIGN_OR_RETURN(const bool are_apart, are_disjoint(first, second, pointer, depth + 1));
    if (are_apart) return true;
  }
  return false;
}

Result<std::string> SchemaCompiler::scalar(const Json& value, const std::string& pointer) const {
  if (!options_.marks || !value.is_string()) return scalar_text(value);
  const auto& text = value.get_ref<const std::string&>();
  ANEMONE_RETURN_IF_ERROR(check_text(text, pointer));
  return rules_.text(text);
}

Result<NodeId> SchemaCompiler::literal_value(const Json& value, const std::string& pointer,
                                             int depth) {
  if (depth > kMaxValueDepth)
    return unsupported("[schema] expected listed values nested at most {} deep, got more",
                       kMaxValueDepth);
  if (!value.is_structured()) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string text, scalar(value, pointer));
    return builder_.literal(text);
  }
  const bool is_object = value.is_object();
  const char open = is_object ? '{' : '[';
  const char close = is_object ? '}' : ']';
  if (value.empty()) return rules_.empty_brackets(open, close);
  std::vector<NodeId> parts{rules_.open(open)};
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (parts.size() > 1) parts.push_back(rules_.comma());
    if (is_object) {
      ANEMONE_RETURN_IF_ERROR(check_text(item.key(), pointer));
      parts.push_back(builder_.literal(rules_.name(item.key())));
      parts.push_back(rules_.colon());
    }
    ANEMONE_ASSIGN_OR_RETURN(const NodeId part, literal_value(*item, pointer, depth + 1));
    parts.push_back(part);
  }
  parts.push_back(rules_.close(close));
  return builder_.sequence(parts);
}

Result<NodeId> SchemaCompiler::listed_values(const Json& schema, const std::string& pointer) {
  if (schema.contains("enum") && !schema["enum"].is_array())
    return parse_error("[{}] expected an array of values, got {}",
                       schema_subject(child_pointer(pointer, "enum")), schema["enum"].type_name());
  ANEMONE_ASSIGN_OR_RETURN(const JsonTypes types, types_of(schema, pointer));
  Json rest = schema;
  for (const char* keyword : {"const", "enum", "type"}) rest.erase(keyword);
  // Other keywords are followed by the grammar that they make.
  std::optional<GrammarMatcher> matcher;
  if (!rest.empty()) {
    SchemaCompiler inner(root_, options_, work_);
    // One limit for all of them, since a reference may lead back here; and these take more stack.
    constexpr int kLevels = 10;
    inner.depth_ = depth_ + kLevels;
    ANEMONE_ASSIGN_OR_RETURN(const auto grammar, inner.compile(rest, pointer));
    matcher.emplace(grammar);
  }
  std::vector<std::string> scalars;
  std::vector<NodeId> ways;
  const Json values = listed(schema);
  for (const Json& value : values) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string text, scalar(value, pointer));
    ANEMONE_RETURN_IF_ERROR(work_.spend(500 + text.size() * 10));
    if ((type_of_value(value) & types) == 0) continue;
    if (matcher) {
      ANEMONE_RETURN_IF_ERROR(work_.spend(text.size() * 2000));
      GrammarMatcher copy = *matcher;
      // The grammar has one order of properties and one form of a number, the value another.
      const bool is_valid = copy.accept(text) && copy.is_complete();
      if (!is_valid && (value.is_structured() || value.is_number_float()))
        return unsupported(
            "[{}] expected texts, integers, booleans and null where other keywords "
            "limit an enum, got {}",
            schema_subject(pointer), shortened(text, 100));
      if (!is_valid) continue;
    }
    if (!value.is_structured()) {
      scalars.push_back(text);
      continue;
    }
    ANEMONE_ASSIGN_OR_RETURN(const NodeId node, literal_value(value, pointer, 0));
    ways.push_back(node);
    ANEMONE_RETURN_IF_ERROR(check_growth(pointer));
  }
  if (!scalars.empty()) ways.push_back(builder_.literals(std::move(scalars)));
  return builder_.choice(ways);
}

}  // namespace anemone::grammar
