// SPDX-License-Identifier: Apache-2.0
// Arrays and objects.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/ascii.h"
#include "base/error.h"
#include "grammar/automaton/matcher.h"
#include "grammar/json/schema_compiler.h"
#include "grammar/notation/regex_grammar.h"

namespace anemone::grammar {
namespace {

constexpr std::size_t kMaxNameBytes = 1000;
// Each byte of a name takes about thirty states where other names must differ from it.
constexpr std::size_t kMaxOtherNameBytes = 20'000;

}  // namespace

Result<NodeId> SchemaCompiler::arrays(const Json& schema, const std::string& pointer) {
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t least, count_of(schema, "minItems", 0, pointer));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t most,
                           count_of(schema, "maxItems", kUnbounded, pointer));
  const auto unique = schema.find("uniqueItems");
  if (unique != schema.end() && *unique != false && most > 1)
    return unsupported("[{}] expected a schema without uniqueItems, which is not supported",
                       schema_subject(child_pointer(pointer, "uniqueItems")));
  if (least > most) return builder_.never();

  std::vector<NodeId> first;
  const auto prefix = schema.find("prefixItems");
  if (prefix != schema.end()) {
    const std::string at = child_pointer(pointer, "prefixItems");
    if (!prefix->is_array())
      return parse_error("[{}] expected an array of schemas, got {}", schema_subject(at),
                         prefix->type_name());
    for (std::size_t i = 0; i < prefix->size() && i < most; ++i) {
      ANEMONE_ASSIGN_OR_RETURN(const NodeId item,
                               values_of((*prefix)[i], child_pointer(at, std::to_string(i))));
      first.push_back(item);
    }
  }
  const std::string items_at = child_pointer(pointer, "items");
  NodeId item = 0;
  if (schema.contains("items")) {
    ANEMONE_ASSIGN_OR_RETURN(const NodeId values, values_of(schema["items"], items_at));
    item = rule(items_at, values);
  } else {
    item = rules_.value();
  }
  // From the end: the items after the first i ones, with the commas before them. A rule each,
  // since there may be many.
  const std::uint64_t count = first.size();
  const auto from = [count](std::uint64_t total) { return total > count ? total - count : 0; };
  const NodeId more = builder_.sequence({rules_.comma(), item});
  const std::uint64_t rest_most = most == kUnbounded ? kUnbounded : from(most);
  NodeId tail = 0;
  if (count == 0) {
    if (most == 0) return rules_.empty_brackets('[', ']');
    tail = builder_.sequence({item, builder_.repeat(more, least > 0 ? least - 1 : 0,
                                                    most == kUnbounded ? kUnbounded : most - 1)});
  } else {
    tail = builder_.repeat(more, from(least), rest_most);
  }
  for (std::size_t i = first.size(); i-- > 0;) {
    const NodeId one = i == 0 ? builder_.sequence({first[i], tail})
                              : builder_.sequence({rules_.comma(), first[i], tail});
    tail = i == 0 || i < least ? one : builder_.optional(one);
    tail = rule(child_pointer(child_pointer(pointer, "prefixItems"), std::to_string(i)), tail);
  }
  const NodeId filled = builder_.sequence({rules_.open('['), tail, rules_.close(']')});
  return rule(pointer,
              least > 0 ? filled : builder_.choice({rules_.empty_brackets('[', ']'), filled}));
}

Result<std::vector<SchemaCompiler::Property>> SchemaCompiler::properties(
    const Json& schema, const std::string& pointer) {
  std::set<std::string> required;
  if (const auto found = schema.find("required"); found != schema.end()) {
    const std::string at = child_pointer(pointer, "required");
    if (!found->is_array())
      return parse_error("[{}] expected an array of names, got {}", schema_subject(at),
                         found->type_name());
    for (const Json& name : *found) {
      if (!name.is_string())
        return parse_error("[{}] expected names, got {}", schema_subject(at), name.type_name());
      required.insert(name.get<std::string>());
    }
  }
  std::vector<Property> named;
  const auto add = [&](const std::string& name, const Json& values, const std::string& at,
                       bool is_required) -> Status {
    if (name.size() > kMaxNameBytes)
      return unsupported("[{}] expected names of at most {} bytes, got {}", schema_subject(pointer),
                         kMaxNameBytes, name.size());
    ANEMONE_RETURN_IF_ERROR(check_text(name, at));
    ANEMONE_ASSIGN_OR_RETURN(const NodeId node, values_of(values, at));
    const NodeId member =
        builder_.sequence({builder_.literal(rules_.name(name)), rules_.colon(), node});
    named.push_back({name, rule(at, member), is_required});
    return {};
  };
  if (const auto found = schema.find("properties"); found != schema.end()) {
    const std::string at = child_pointer(pointer, "properties");
    if (!found->is_object())
      return parse_error("[{}] expected an object of schemas, got {}", schema_subject(at),
                         found->type_name());
    for (const auto& [name, values] : found->items())
      ANEMONE_RETURN_IF_ERROR(add(name, values, child_pointer(at, name), required.erase(name) > 0));
  }
  // Required ones without a schema of their own are additional properties.
  const Json any = true;
  const auto others = schema.find("additionalProperties");
  if (required.empty()) return named;
  for (const Json& name : schema["required"])
    if (required.erase(name.get_ref<const std::string&>()) > 0)
      ANEMONE_RETURN_IF_ERROR(add(name.get_ref<const std::string&>(),
                                  others == schema.end() ? any : *others,
                                  child_pointer(pointer, "additionalProperties"), true));
  return named;
}

NodeId SchemaCompiler::members(const std::vector<Property>& named, std::optional<NodeId> other,
                               const std::string& pointer) {
  // Rules for the members from the i-th property on: `first` if none is written yet, `more` if one
  // is, so that a comma comes before the next. Each ends with a call of one after it.
  NodeId more = other ? builder_.repeat(builder_.sequence({rules_.comma(), *other}), 0, kUnbounded)
                      : builder_.empty();
  NodeId first = other ? builder_.sequence({*other, more}) : builder_.never();
  bool may_be_none = true;  // of the members from here on
  for (std::size_t i = named.size(); i-- > 0;) {
    const Property& property = named[i];
    std::vector<NodeId> first_ways{builder_.sequence({property.member, more})};
    std::vector<NodeId> more_ways{builder_.sequence({rules_.comma(), property.member, more})};
    if (!property.is_required) {
      first_ways.push_back(first);
      more_ways.push_back(more);
    }
    may_be_none = may_be_none && !property.is_required;
    first = rule(pointer, builder_.choice(first_ways));
    more = rule(pointer, builder_.choice(more_ways));
  }
  const NodeId filled = builder_.sequence({rules_.open('{'), first, rules_.close('}')});
  return may_be_none ? builder_.choice({rules_.empty_brackets('{', '}'), filled}) : filled;
}

Result<NodeId> SchemaCompiler::names(const Json& schema, bool has_named,
                                     const std::string& pointer) {
  const auto found = schema.find("propertyNames");
  if (found == schema.end()) return rules_.name();
  const std::string at = child_pointer(pointer, "propertyNames");
  ANEMONE_ASSIGN_OR_RETURN(const Json flat, merger_.flatten(*found, at, true));
  Json texts = Json::object();
  texts["type"] = "string";
  if (flat.empty() || flat == texts) return rules_.name();
  if (has_named)
    return unsupported("[{}] expected no limit on names beside named properties",
                       schema_subject(at));
  ANEMONE_ASSIGN_OR_RETURN(const Json both, merger_.merge(texts, flat, at));
  return values_of(both, at);
}

Result<NodeId> SchemaCompiler::matching_member(const Json& schema,
                                               const std::vector<Property>& named,
                                               const std::string& pointer) {
  const std::string at = child_pointer(pointer, "patternProperties");
  const Json& patterns = schema["patternProperties"];
  const std::size_t with_schema = schema.contains("properties") ? schema["properties"].size() : 0;
  if (patterns.size() > 1 || named.size() > with_schema || schema.contains("propertyNames"))
    return unsupported(
        "[{}] expected one pattern, without propertyNames and without required properties that "
        "have no schema",
        schema_subject(at));
  const std::string& pattern = patterns.begin().key();
  // A named property that matched would have to be valid against both schemas.
  GrammarBuilder of_names;
  const RuleId name_rule = of_names.add_rule("name");
  ANEMONE_ASSIGN_OR_RETURN(const NodeId names, regex_node(of_names, pattern, false,
                                                          TextForm::kPlain, schema_subject(at)));
  of_names.define(name_rule, names);
  ANEMONE_ASSIGN_OR_RETURN(const auto grammar, of_names.build(name_rule));
  for (const Property& property : named) {
    ANEMONE_RETURN_IF_ERROR(work_.spend(property.name.size() * 5000));
    GrammarMatcher matcher(grammar);
    const bool is_taken = matcher.accept(property.name) && matcher.is_complete();
    if (is_taken || matcher.is_too_ambiguous())
      return unsupported("[{}] expected a pattern that no named property matches, got {}",
                         schema_subject(at), property.name);
  }
  ANEMONE_ASSIGN_OR_RETURN(const NodeId inside,
                           regex_node(builder_, pattern, false, rules_.form(), schema_subject(at)));
  const std::string place = child_pointer(at, pattern);
  ANEMONE_ASSIGN_OR_RETURN(const NodeId values, values_of(patterns.begin().value(), place));
  return rule(place, builder_.sequence({rules_.quoted(inside), rules_.colon(), values}));
}

Result<std::optional<NodeId>> SchemaCompiler::other_member(const Json& schema,
                                                           const std::vector<Property>& named,
                                                           const std::string& pointer) {
  const auto others = schema.find("additionalProperties");
  const bool is_closed = others != schema.end()
                             ? *others == false
                             : options_.closes_objects && schema.contains("properties");
  const auto patterns = schema.find("patternProperties");
  if (patterns != schema.end() && !patterns->empty()) {
    const std::string at = child_pointer(pointer, "patternProperties");
    if (!patterns->is_object())
      return parse_error("[{}] expected an object of schemas, got {}", schema_subject(at),
                         patterns->type_name());
    if (!is_closed)
      return unsupported("[{}] expected patternProperties with additionalProperties false alone",
                         schema_subject(at));
    ANEMONE_ASSIGN_OR_RETURN(const NodeId member, matching_member(schema, named, pointer));
    return std::optional(member);
  }
  if (is_closed) return std::optional<NodeId>();
  NodeId values = rules_.value();
  if (others != schema.end() && *others != true) {
    ANEMONE_ASSIGN_OR_RETURN(values,
                             values_of(*others, child_pointer(pointer, "additionalProperties")));
  }
  ANEMONE_ASSIGN_OR_RETURN(NodeId name, names(schema, !named.empty(), pointer));
  if (!named.empty()) {
    std::vector<std::string> all;
    std::size_t bytes = 0;
    for (const Property& property : named) {
      all.push_back(property.name);
      bytes += property.name.size();
    }
    if (bytes > kMaxOtherNameBytes)
      return unsupported(
          "[{}] expected named properties whose names have at most {} bytes together beside "
          "additional ones, got {}",
          schema_subject(pointer), kMaxOtherNameBytes, bytes);
    name = rules_.name_other_than(all);
  }
  return std::optional(rule(child_pointer(pointer, "additionalProperties"),
                            builder_.sequence({name, rules_.colon(), values})));
}

Result<NodeId> SchemaCompiler::objects(const Json& schema, const std::string& pointer) {
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t least,
                           count_of(schema, "minProperties", 0, pointer));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t most,
                           count_of(schema, "maxProperties", kUnbounded, pointer));
  ANEMONE_ASSIGN_OR_RETURN(std::vector<Property> named, properties(schema, pointer));
  if (options_.marks)
    std::ranges::stable_sort(named, {},
                             [](const Property& property) { return ascii_lower(property.name); });
  ANEMONE_ASSIGN_OR_RETURN(const std::optional<NodeId> other, other_member(schema, named, pointer));
  const auto required = static_cast<std::uint64_t>(
      std::count_if(named.begin(), named.end(), [](const Property& p) { return p.is_required; }));
  if (least > most) return builder_.never();
  const bool is_most_sure = most == kUnbounded || (!other && named.size() <= most);
  if (least <= required && is_most_sure) return rule(pointer, members(named, other, pointer));
  // Counts of members are followed where all members are alike. Two of them may have one name,
  // which then counts once: more than one cannot be demanded.
  if (!named.empty() || least > 1)
    return unsupported(
        "[{}] expected bounds on the number of properties that hold by themselves, or "
        "minProperties of at most 1 and maxProperties in an object without named properties",
        schema_subject(pointer));
  const NodeId none = rules_.empty_brackets('{', '}');
  if (!other || most == 0) return least == 0 ? none : builder_.never();
  const NodeId more = builder_.repeat(builder_.sequence({rules_.comma(), *other}), 0,
                                      most == kUnbounded ? kUnbounded : most - 1);
  const NodeId filled = builder_.sequence({rules_.open('{'), *other, more, rules_.close('}')});
  return rule(pointer, least > 0 ? filled : builder_.choice({none, filled}));
}

}  // namespace anemone::grammar
