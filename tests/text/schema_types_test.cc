// SPDX-License-Identifier: Apache-2.0
#include "text/tools/schema_types.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "text/tools/tool_set.h"

namespace anemone::text {
namespace {

using Types = std::vector<std::string>;

Types types_of(const std::string& schema) {
  const Json root =
      *parse_json(R"({"$defs": {"a/b": {"type": "array"}, "loop": {"$ref": "#/$defs/loop"},
      "wide": {"anyOf": [{"$ref": "#/$defs/wide"}, {"$ref": "#/$defs/wide"}]}}, "schema": )" +
                      schema + "}",
                  "schema");
  std::size_t steps = SchemaTypes::kMaxSteps;
  return SchemaTypes(root, steps).types_of(root["schema"]);
}

TEST(SchemaTypes, AreThoseThatTheSchemaNamesOrLists) {
  EXPECT_EQ(types_of(R"({"type": "string"})"), Types{"string"});
  EXPECT_EQ(types_of(R"({"type": ["string", "null", "text", "string"]})"),
            (Types{"string", "null"}));
  EXPECT_EQ(types_of(R"({"enum": ["a", 1, 1.5, null, true, "b"]})"),
            (Types{"string", "integer", "number", "null", "boolean"}));
  EXPECT_EQ(types_of(R"({"const": null})"), Types{"null"});
  EXPECT_EQ(types_of(R"({"const": {}})"), Types{"object"});
}

TEST(SchemaTypes, AreThoseOfTheAlternatives) {
  EXPECT_EQ(
      types_of(R"({"anyOf": [{"type": "string"}, {"oneOf": [{"const": 1}, {"enum": [null]}]}]})"),
      (Types{"string", "integer", "null"}));
  EXPECT_EQ(types_of(R"({"$ref": "#/$defs/a~1b"})"), Types{"array"});
  EXPECT_EQ(types_of(R"({"allOf": [{"$ref": "#/%24defs/a~1b"}]})"), Types{"array"});
}

TEST(SchemaTypes, AreNoneWhereAnyValueMayStand) {
  for (const char* schema :
       {"{}", "true", "7", R"({"anyOf": []})", R"({"anyOf": [{"type": "string"}, {}]})",
        R"({"$ref": "#/$defs/none"})", R"({"$ref": "other.json"})", R"({"$ref": "#/%2"})",
        R"({"$ref": "#a"})", R"({"$ref": 1})", R"({"type": 1})",
        R"({"allOf": [{"type": "string"}, {"type": "null"}]})",
        R"({"anyOf": [{"type": "null"}], "$ref": "#/$defs/a~1b"})"})
    EXPECT_EQ(types_of(schema), Types()) << schema;
}

TEST(SchemaTypes, AreNoneWhereTheSchemaHasNoEnd) {
  EXPECT_EQ(types_of(R"({"$ref": "#/$defs/loop"})"), Types());
  EXPECT_EQ(types_of(R"({"$ref": "#/$defs/wide"})"), Types());
}

// Each of many parameters looks through many definitions.
TEST(SchemaTypes, AreReadInBoundedTime) {
  constexpr int kCount = 20'000;
  std::string properties, definitions;
  for (int i = 0; i < kCount; ++i) {
    properties += fmt::format(R"({}"p{}": {{"$ref": "#/$defs/d{}"}})", i == 0 ? "" : ",", i, i);
    definitions += fmt::format(R"({}"d{}": {{"type": "string"}})", i == 0 ? "" : ",", i);
  }
  std::vector<ToolFunction> functions;
  functions.push_back({"f", *parse_json(fmt::format(R"({{"properties": {{{}}}, "$defs": {{{}}}}})",
                                                    properties, definitions),
                                        "schema")});
  const ToolSet tools(std::move(functions));
  EXPECT_GT(tools.byte_size(), std::size_t{2 * kCount * 100}) << "of the schema and its table";
  EXPECT_EQ(tools.types_of("f", "p0"), Types{"string"});
  EXPECT_EQ(tools.types_of("f", "p19999"), Types()) << "more steps than are spent on schemas";
}

}  // namespace
}  // namespace anemone::text
