// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/response_format.h"

#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/json.h"

namespace anemone::serve::openai {
namespace {

using engine::ResponseFormat;
using Kind = ResponseFormat::Kind;

constexpr std::size_t kMaxChoices = 20'000;

// The fields beside response_format, and members of structured_outputs by their name there.
struct Field {
  std::string_view name;
  Kind kind;
};
constexpr std::array kFields = {
    Field{"guided_json", Kind::kJsonSchema}, Field{"guided_regex", Kind::kRegex},
    Field{"guided_choice", Kind::kChoice},   Field{"guided_grammar", Kind::kGrammar},
    Field{"json_schema", Kind::kJsonSchema}, Field{"grammar", Kind::kGrammar}};
constexpr std::array kStructured = {
    Field{"json", Kind::kJsonSchema},        Field{"regex", Kind::kRegex},
    Field{"choice", Kind::kChoice},          Field{"grammar", Kind::kGrammar},
    Field{"json_object", Kind::kJsonObject}, Field{"stages", Kind::kStages}};

Result<ResponseFormat> schema_of(const Json& schema, std::string_view name) {
  ResponseFormat out = {.kind = Kind::kJsonSchema, .subject = std::string(name)};
  if (schema.is_object() || schema.is_boolean())
    out.source = dump_json(schema);
  else if (schema.is_string())  // vLLM takes the text of a schema, too
    out.source = schema.get<std::string>();
  else
    return invalid_argument("[{}] expected a JSON schema, got {}", name, describe_json(schema));
  return out;
}

Result<ResponseFormat> value_of(const Field& field, std::string_view name, const Json& value) {
  ResponseFormat out = {.kind = field.kind};
  switch (field.kind) {
    case Kind::kJsonSchema:
      return schema_of(value, name);
    case Kind::kRegex:
    case Kind::kGrammar:
      if (!value.is_string())
        return invalid_argument("[{}] expected a string, got {}", name, describe_json(value));
      out.source = value.get<std::string>();
      return out;
    case Kind::kChoice:
      if (!value.is_array() || value.empty() || value.size() > kMaxChoices)
        return invalid_argument("[{}] expected a list of 1 to {} texts, got {}", name, kMaxChoices,
                                describe_json(value));
      for (const Json& choice : value) {
        if (!choice.is_string())
          return invalid_argument("[{}] expected a list of texts, got {} in it", name,
                                  describe_json(choice));
        out.choices.push_back(choice.get<std::string>());
      }
      return out;
    case Kind::kJsonObject:
      if (value != true)
        return invalid_argument("[{}] expected true, got {}", name, describe_json(value));
      return out;
    case Kind::kStages:
      return stages_of(value, name);
  }
  ANEMONE_CHECK(false);
  return internal_error("unknown response format");
}

// nullopt: any text.
Result<std::optional<ResponseFormat>> openai_format(const Json& format) {
  const Json* type = json_member(format, "type");
  if (type == nullptr || !type->is_string())
    return invalid_argument("[response_format] expected an object with a type, got {}",
                            describe_json(format));
  if (*type == "text") return std::optional<ResponseFormat>();
  if (*type == "json_object") {
    // llama.cpp's way to give a schema.
    if (const Json* schema = json_member(format, "schema")) {
      ANEMONE_ASSIGN_OR_RETURN(auto out, schema_of(*schema, "response_format.schema"));
      return std::optional(std::move(out));
    }
    return std::optional(ResponseFormat{});
  }
  if (*type != "json_schema")
    return unsupported(
        "[response_format] expected the type \"text\", \"json_object\" or \"json_schema\", got {}",
        describe_json(*type));
  const Json* named = json_member(format, "json_schema");
  const Json* schema = named != nullptr ? json_member(*named, "schema") : nullptr;
  if (schema == nullptr)
    return invalid_argument(
        "[response_format.json_schema] expected an object with a schema, got {}",
        named != nullptr ? describe_json(*named) : "none");
  const Json* strict = json_member(*named, "strict");
  if (strict != nullptr && !strict->is_boolean() && !strict->is_null())
    return invalid_argument("[response_format.json_schema.strict] expected true or false, got {}",
                            describe_json(*strict));
  // Texts keep to the schema whether it is strict or not.
  ANEMONE_ASSIGN_OR_RETURN(auto out, schema_of(*schema, "response_format.json_schema.schema"));
  return std::optional(std::move(out));
}

}  // namespace

ResponseFormat stages_of(const Json& manifest, std::string_view name) {
  return {.kind = Kind::kStages, .source = dump_json(manifest), .subject = std::string(name)};
}

std::optional<ResponseFormat> read_response_format(JsonFields& fields) {
  std::optional<ResponseFormat> out;
  std::string first;
  const auto take = [&](std::string_view name, Result<ResponseFormat> format) {
    if (!format.ok()) return fields.fail(format.status());
    if (out)
      return fields.fail(
          invalid_argument("[{}] expected one form of the answer, got {} as well", name, first));
    out = *std::move(format);
    first = name;
  };
  if (const Json* format = fields.member("response_format")) {
    auto read = openai_format(*format);
    if (!read.ok())
      fields.fail(read.status());
    else if (read->has_value())
      take("response_format", **std::move(read));
  }
  if (const Json* outputs = fields.member("structured_outputs")) {
    if (!outputs->is_object())
      fields.fail(invalid_argument("[structured_outputs] expected an object, got {}",
                                   describe_json(*outputs)));
    for (const Field& known : kStructured) {
      const Json* value = json_member(*outputs, known.name);
      if (value == nullptr || value->is_null()) continue;
      const std::string name = fmt::format("structured_outputs.{}", known.name);
      take(name, value_of(known, name, *value));
    }
  }
  for (const Field& known : kFields)
    if (const Json* value = fields.member(known.name))
      take(known.name, value_of(known, known.name, *value));
  return out;
}

}  // namespace anemone::serve::openai
