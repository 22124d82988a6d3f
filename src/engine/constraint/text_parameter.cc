// SPDX-License-Identifier: Apache-2.0
#include "engine/constraint/text_parameter.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/escape.h"
#include "grammar/json/schema_keywords.h"
#include "grammar/json/string_formats.h"
#include "grammar/notation/regex_grammar.h"

namespace anemone::engine {
namespace {

using grammar::child_pointer;
using grammar::NodeId;
using grammar::schema_subject;

constexpr const char* kText = "string";

Status refuse(const std::string& pointer, std::string_view keyword) {
  return unsupported(
      "[{}] expected a schema that allows strings to be without this keyword: this model's calls "
      "cannot be constrained by it",
      schema_subject(child_pointer(pointer, keyword)));
}

// A schema whose alternatives were taken out of it may say nothing else.
Status check_around(const Json& schema, const std::string& pointer) {
  ANEMONE_RETURN_IF_ERROR(grammar::check_keywords(schema, pointer));
  for (const auto& [keyword, value] : schema.items())
    if (grammar::is_followed(keyword) && keyword != "anyOf" && keyword != "oneOf")
      return refuse(pointer, keyword);
  return {};
}

// Checks that no value fits two alternatives of oneOf.
Status check_disjoint(const text::SchemaAlternatives& alternatives, const std::string& pointer) {
  const bool has_one_of =
      std::ranges::any_of(alternatives.around, [](const Json* s) { return s->contains("oneOf"); });
  if (!has_one_of) return {};
  std::vector<std::string> seen;
  for (const Json* schema : alternatives.schemas) {
    for (std::string type : text::own_types(*schema)) {
      if (type == "integer") type = "number";
      if (std::ranges::find(seen, type) != seen.end())
        return unsupported("[{}] expected alternatives of different types, got two of type {}",
                           schema_subject(child_pointer(pointer, "oneOf")), type);
      seen.push_back(std::move(type));
    }
  }
  return {};
}

// The bounds of the length.
struct Length {
  std::string count;              // of a regular expression; empty where there are none
  const char* keyword = nullptr;  // of the schema, for errors; null where there are none
};

Result<Length> length_of(const Json& schema, const std::string& pointer) {
  const std::string subject = schema_subject(pointer);
  ANEMONE_ASSIGN_OR_RETURN(const auto least, json_int(schema, "minLength", subject));
  ANEMONE_ASSIGN_OR_RETURN(const auto most, json_int(schema, "maxLength", subject));
  for (const auto& count : {least, most})
    if (count && *count < 0)
      return parse_error("[{}] expected a length of at least 0, got {}", subject, *count);
  if (!most && least.value_or(0) == 0) return Length();
  if (!most) return Length{fmt::format("{{{},}}", *least), "minLength"};
  if (least.value_or(0) > *most)
    return invalid_argument("[{}] expected minLength to be at most maxLength, got {} and {}",
                            subject, *least, *most);
  return Length{fmt::format("{{{},{}}}", least.value_or(0), *most), "maxLength"};
}

// The values that a schema lists; null where it lists none.
const Json* listed(const Json& schema, Json& list) {
  if (const auto found = schema.find("const"); found != schema.end()) {
    list = Json::array({*found});
    return &list;
  }
  const auto found = schema.find("enum");
  return found != schema.end() && found->is_array() ? &*found : nullptr;
}

class TextValues {
 public:
  TextValues(grammar::GrammarBuilder& builder, const std::string& pointer, std::string_view marker,
             const ValuesOf& values_of)
      : builder_(builder), pointer_(pointer), marker_(marker), values_of_(values_of) {}

  bool takes_any() const { return takes_any_; }
  NodeId ways() { return builder_.choice(ways_); }

  Status add(const Json& schema) {
    std::vector<std::string> types = text::own_types(schema);
    if (std::ranges::find(types, kText) == types.end()) return add_json(schema);
    ANEMONE_RETURN_IF_ERROR(grammar::check_keywords(schema, pointer_));
    for (const char* keyword : {"anyOf", "oneOf", "allOf", "$ref", "pattern"})
      if (schema.contains(keyword)) return refuse(pointer_, keyword);
    ANEMONE_ASSIGN_OR_RETURN(const Length length, length_of(schema, pointer_));
    const bool has_length = length.keyword != nullptr;
    const auto format = schema.find("format");
    const bool has_format = format != schema.end();
    Json one;
    if (const Json* values = listed(schema, one)) {
      if (has_format || has_length) return refuse(pointer_, has_format ? "format" : length.keyword);
      return add_listed(*values, types);
    }
    if (!has_format && !has_length) {
      takes_any_ = true;
      return {};
    }
    if (has_format && has_length) return refuse(pointer_, "format");
    ANEMONE_RETURN_IF_ERROR(has_format ? add_format(*format)
                                       : add_text("[^<]" + length.count, length.keyword));
    std::erase(types, kText);
    if (types.empty()) return {};
    Json rest = schema;
    rest["type"] = types;
    return add_json(rest);
  }

 private:
  Status add_json(const Json& schema) {
    ANEMONE_ASSIGN_OR_RETURN(const NodeId node, values_of_(schema));
    ways_.push_back(node);
    return {};
  }

  Status add_listed(const Json& values, const std::vector<std::string>& types) {
    std::vector<std::string> texts;
    for (const Json& value : values) {
      if (!text::is_of_any_type(value, types)) continue;
      texts.push_back(value.is_string() ? value.get<std::string>() : dump_json(value));
      if (texts.back().find(marker_) != std::string::npos)
        return unsupported("[{}] expected values without {}, which ends a parameter, got {}",
                           schema_subject(pointer_), marker_, shortened(dump_json(value), 100));
    }
    if (texts.empty())
      return invalid_argument("[{}] expected a value of the type of the schema, got none",
                              schema_subject(pointer_));
    ways_.push_back(builder_.literals(std::move(texts)));
    return {};
  }

  Status add_format(const Json& format) {
    const auto known = format.is_string()
                           ? grammar::format_pattern(format.get_ref<const std::string&>())
                           : std::nullopt;
    if (known) return add_text(*known, "format");
    return unsupported("[{}] expected a format that is supported ({}), got {}",
                       schema_subject(child_pointer(pointer_, "format")), grammar::format_names(),
                       shortened(dump_json(format), 100));
  }

  Status add_text(std::string_view expression, std::string_view keyword) {
    ANEMONE_ASSIGN_OR_RETURN(
        const NodeId node,
        grammar::regex_node(builder_, expression, /*is_anchored=*/true, grammar::TextForm::kPlain,
                            schema_subject(child_pointer(pointer_, keyword))));
    ways_.push_back(node);
    return {};
  }

  grammar::GrammarBuilder& builder_;
  const std::string& pointer_;
  const std::string_view marker_;
  const ValuesOf& values_of_;
  std::vector<NodeId> ways_;
  bool takes_any_ = false;
};

}  // namespace

Result<std::optional<NodeId>> text_values_of(grammar::GrammarBuilder& builder,
                                             text::SchemaTypes& types, const Json& schema,
                                             const std::string& pointer, std::string_view marker,
                                             const ValuesOf& values_of) {
  const text::SchemaAlternatives alternatives = types.alternatives_of(schema);
  if (!alternatives.is_complete)
    return unsupported("[{}] expected fewer alternatives, got more than can be listed",
                       schema_subject(pointer));
  for (const Json* around : alternatives.around)
    ANEMONE_RETURN_IF_ERROR(check_around(*around, pointer));
  ANEMONE_RETURN_IF_ERROR(check_disjoint(alternatives, pointer));
  TextValues values(builder, pointer, marker, values_of);
  for (const Json* way : alternatives.schemas) ANEMONE_RETURN_IF_ERROR(values.add(*way));
  if (values.takes_any()) return std::optional<NodeId>();
  return std::optional(values.ways());
}

}  // namespace anemone::engine
