// SPDX-License-Identifier: Apache-2.0
// Which JSON schemas become a grammar, what those take, and which are refused with their place.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "grammar/automaton/matcher.h"
#include "grammar/json/schema_grammar.h"

namespace anemone::grammar {
namespace {

Json json(std::string_view text) {
  JsonLimits limits;
  limits.max_depth = 5000;
  auto parsed = parse_json(text, "test", limits);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? std::move(*parsed) : Json();
}

struct Schema {
  explicit Schema(std::string_view text, const JsonGrammarOptions& options = {})
      : grammar(grammar_from_json_schema(json(text), options)) {
    EXPECT_TRUE(grammar.ok()) << grammar.status().message() << "\n" << text;
  }
  bool takes(std::string_view text) const {
    if (!grammar.ok()) return false;
    GrammarMatcher matcher(*grammar);
    return matcher.accept(text) && matcher.is_complete();
  }
  Result<std::shared_ptr<const Grammar>> grammar;
};

struct Case {
  const char* schema;
  std::vector<const char*> valid;
  std::vector<const char*> invalid;
};

TEST(JsonSchema, KeywordsTakeWhatIsValidAndRefuseWhatIsNot) {
  const Case cases[] = {
      {R"({"type":"null"})", {"null"}, {"0", "false", "nul"}},
      {R"({"type":"boolean"})", {"true", "false"}, {"null", "1", "True"}},
      {R"({"type":"integer"})", {"0", "-7", "123456"}, {"01", "1.5", "+1", "-", "1e3", "\"1\""}},
      {R"({"type":"number"})",
       {"0", "-0.5", "1e10", "1.25E-3"},
       {".5", "1.", "01", "1e", "NaN", "--1"}},
      {R"({"type":["string","null"]})", {"\"a\"", "null"}, {"1", "[]"}},
      {R"({})", {"1", "[1,{\"a\":[]}]", "\"x\"", "{\"a\": 1, \"b\": {}}"}, {"", "[1,]", "{\"a\"}"}},
      {R"(true)", {"1", "[]"}, {"x"}},
      // strings
      {R"({"type":"string"})",
       {R"("")", R"("é\u00e9\n\/")", R"("\ud83d\ude00")", "\"\xF0\x9F\x98\x80\""},
       {"\"\n\"", R"("\x")", R"("\ud83d")", R"("\ude00")", "\"\xC3\"", "\"\xED\xA0\x80\"",
        R"("\u12g4")", "\"", "'a'"}},
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("ééé")", R"("\ud83d\ude00\n")"},
       {R"("a")", R"("abcd")", R"("\ud83d\ude00")"}},
      {R"({"type":"string","pattern":"^[a-z]+\"$"})", {R"("ab\"")"}, {R"("ab")", R"("\"")"}},
      {R"({"type":"string","pattern":"b"})", {R"("abc")", R"("b")", R"("\nb")"}, {R"("ac")"}},
      {R"({"type":"string","format":"date"})",
       {R"("2024-02-29")", R"("2000-02-29")", R"("1999-12-31")"},
       {R"("2023-02-29")", R"("1900-02-29")", R"("2024-04-31")", R"("2024-13-01")"}},
      {R"({"type":"string","format":"date-time"})",
       {R"("2024-02-29T12:00:00Z")", R"("2024-01-01T23:59:59.5+02:00")"},
       {R"("2024-02-29 12:00:00Z")", R"("2024-02-29T24:00:00Z")", R"("2024-02-29T12:00:00")"}},
      {R"({"type":"string","format":"ipv6"})",
       {R"("::")", R"("2001:db8::1")", R"("1:2:3:4:5:6:7:8")", R"("::ffff:1.2.3.4")", R"("1::")"},
       {R"("1:2:3:4:5:6:7")", R"("1::2::3")", R"("12345::")", R"("1:2:3:4:5:6:7:8:9")"}},
      // numbers
      {R"({"type":"integer","minimum":-12,"maximum":105})",
       {"-12", "-9", "0", "9", "99", "100", "105"},
       {"-13", "-20", "106", "110", "999", "-0"}},
      {R"({"type":"integer","exclusiveMinimum":10,"exclusiveMaximum":13})",
       {"11", "12"},
       {"10", "13", "1", "101"}},
      {R"({"type":"integer","minimum":1.5,"maximum":3.5})", {"2", "3"}, {"1", "4"}},
      {R"({"type":"integer","minimum":1000})", {"1000", "99999", "1001"}, {"999", "-1000", "0"}},
      {R"({"type":"integer","multipleOf":7})", {"0", "7", "-14", "7007"}, {"8", "70071", "1"}},
      {R"({"type":"integer","multipleOf":5,"minimum":-7,"maximum":11})",
       {"-5", "0", "5", "10"},
       {"-10", "15", "1"}},
      {R"({"type":"number","minimum":0,"maximum":1})",
       {"0", "1", "0.5", "0.999", "1.0", "0.0"},
       {"1.1", "1.001", "-0.1", "2"}},
      {R"({"type":"number","exclusiveMinimum":0,"maximum":2.5})",
       {"0.001", "1", "2.5", "2.49", "2.50"},
       {"0", "0.0", "2.51", "3"}},
      {R"({"type":"number","minimum":-1.25,"exclusiveMaximum":-0.5})",
       {"-1.25", "-1", "-0.51", "-1.2"},
       {"-0.5", "-1.26", "-2", "0", "0.7"}},
      {R"({"type":"number","multipleOf":0.01})", {"1", "1.5", "1.25"}, {"1.255"}},
      // arrays
      {R"({"type":"array","items":{"type":"integer"}})", {"[]", "[1]", "[1, 2,3]"}, {"[1,\"a\"]"}},
      {R"({"type":"array","items":{"type":"null"},"minItems":2,"maxItems":3})",
       {"[null,null]", "[null,null,null]"},
       {"[]", "[null]", "[null,null,null,null]"}},
      {R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}],"items":false})",
       {"[]", "[1]", "[1,true]"},
       {"[true]", "[1,true,1]"}},
      {R"({"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":2})",
       {"[1,null]", "[1,null,null]"},
       {"[1]", "[]", "[1,1]"}},
      {R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
      {R"({"type":"array","uniqueItems":true,"maxItems":1})", {"[]", "[1]"}, {"[1,1]"}},
      // objects
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},
          "c":{"type":"null"}},"required":["b"],"additionalProperties":false})",
       {R"({"b":"x"})", R"({"a":1,"b":"x"})", R"({"a": 1, "b": "x", "c": null})"},
       {"{}", R"({"a":1})", R"({"b":1})", R"({"b":"x","a":1})", R"({"b":"x","d":1})",
        R"({"b":"x",})", R"({,"b":"x"})", R"({"b":"x","b":"y"})"}},
      {R"({"type":"object","properties":{"ab":{"type":"integer"}}})",
       {"{}", R"({"ab":1})", R"({"ab":1,"abc":"x","a":[],"":2})", R"({"x":1})"},
       {R"({"ab":"x"})", R"({"x":1,"ab":"x"})", R"({"\u0061b":"x"})"}},
      {R"({"type":"object","additionalProperties":{"type":"integer"}})",
       {"{}", R"({"a":1,"b":2})"},
       {R"({"a":"b"})"}},
      {R"({"type":"object","additionalProperties":{"type":"integer"},"minProperties":1,
          "maxProperties":2})",
       {R"({"a":1})", R"({"a":1,"b":2})"},
       {"{}", R"({"a":1,"b":2,"c":3})"}},
      {R"({"type":"object","additionalProperties":{"type":"null"},"propertyNames":{"enum":["x","y"]}})",
       {"{}", R"({"x":null})"},
       {R"({"z":null})"}},
      {R"({"type":"object","properties":{"id":{"type":"integer"}},"patternProperties":
          {"^x[0-9]+$":{"type":"null"}},"additionalProperties":false})",
       {"{}", R"({"id":1})", R"({"id":1,"x1":null,"x22":null})", R"({"x1":null})"},
       {R"({"x":null})", R"({"x1":1})", R"({"y":null})", R"({"x1":null,"id":1})"}},
      {R"({"type":"object","required":["a"],"additionalProperties":{"type":"null"}})",
       {R"({"a":null})", R"({"a":null,"b":null})"},
       {"{}", R"({"b":null})", R"({"a":1})"}},
      {R"({"type":"object","properties":{"a":false,"b":true},"additionalProperties":false})",
       {"{}", R"({"b":1})"},
       {R"({"a":1})"}},
      {R"({"type":"object","properties":{},"additionalProperties":false})", {"{}"}, {R"({"a":1})"}},
      // listed values and alternatives
      {R"({"enum":["a","b\n",1,2.5,null,[1,"x"],{"k":true}]})",
       {R"("a")", R"("b\n")", "1", "2.5", "null", R"([1, "x"])", R"({"k":true})"},
       {R"("c")", "2", "[1]", "{}"}},
      {R"({"enum":["a","bcd",1],"type":"string","maxLength":2})", {R"("a")"}, {R"("bcd")", "1"}},
      {R"({"const":-3.0})", {"-3"}, {"3", "-3.5"}},
      {R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]})",
       {"1", R"("a")"},
       {R"("ab")", "null"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
          "additionalProperties":false,"anyOf":[{"required":["a"]},{"required":["b"]}]})",
       {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"},
       {"{}"}},
      {R"({"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},
          "required":["kind"],"additionalProperties":false},{"type":"object","properties":
          {"kind":{"const":"b"}},"required":["kind"],"additionalProperties":false}]})",
       {R"({"kind":"a","x":1})", R"({"kind":"b"})"},
       {R"({"kind":"b","x":1})", R"({"kind":"c"})"}},
      {R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},
          {"properties":{"b":{"type":"null"},"a":{"minimum":5}},"required":["b"]}]})",
       {R"({"a":5,"b":null})"},
       {R"({"a":4,"b":null})", R"({"a":5})", R"({"b":null})"}},
      // references
      {R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"v":{"type":
          "integer"},"next":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]}},"required":["v",
          "next"],"additionalProperties":false}}})",
       {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"},
       {R"({"v":1})", R"({"v":1,"next":{"v":2}})"}},
      {R"({"type":"array","items":{"$ref":"#"}})", {"[]", "[[],[[]]]"}, {"[1]"}},
      {R"({"$ref":"#/$defs/a~1b","maximum":3,"$defs":{"a/b":{"type":"integer","minimum":2}}})",
       {"2", "3"},
       {"1", "4"}},
  };
  for (const Case& one : cases) {
    const Schema schema(one.schema);
    for (const char* text : one.valid)
      EXPECT_TRUE(schema.takes(text)) << one.schema << "\n" << text;
    for (const char* text : one.invalid)
      EXPECT_FALSE(schema.takes(text)) << one.schema << "\n" << text;
  }
}

TEST(JsonSchema, AnnotationsAndUnknownKeywordsChangeNothing) {
  const Schema schema(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"x",
    "title":"t","description":"d","default":1,"examples":[1],"deprecated":true,"readOnly":true,
    "$comment":"c","x-own":{"not":1},"type":"integer","uniqueItems":false,
    "propertyNames":{"type":"string"}})");
  EXPECT_TRUE(schema.takes("1"));
  EXPECT_FALSE(schema.takes("null"));
}

std::string error_of(std::string_view text, Code code) {
  const auto grammar = grammar_from_json_schema(json(text));
  EXPECT_FALSE(grammar.ok()) << text;
  if (grammar.ok()) return "";
  EXPECT_EQ(grammar.status().code(), code) << grammar.status().message();
  return grammar.status().message();
}

TEST(JsonSchema, RefusesKeywordsThatItCannotHonourWithTheirPlace) {
  EXPECT_EQ(
      error_of(R"({"properties":{"a/b":{"not":{"type":"null"}}}})", Code::kUnsupported),
      "[schema #/properties/a~1b/not] expected a schema without the keyword not, which is not "
      "supported");
  for (const char* text :
       {R"({"if":{},"then":{}})",
        R"({"dependentRequired":{"a":["b"]}})",
        R"({"patternProperties":{"a":true}})",
        R"({"contains":{}})",
        R"({"patternProperties":{"a":true,"b":true},"additionalProperties":false})",
        R"({"properties":{"ab":true},"patternProperties":{"a":true},"additionalProperties":false})",
        R"({"allOf":[{"patternProperties":{"a":true},"additionalProperties":false},
            {"properties":{"b":true}}]})",
        R"({"uniqueItems":true})",
        R"({"unevaluatedProperties":false})",
        R"({"$dynamicRef":"#a"})",
        R"({"type":"string","format":"regex"})",
        R"({"type":"string","pattern":"a","minLength":1})",
        R"j({"type":"string","pattern":"(?=a)"})j",
        R"({"type":"number","multipleOf":1.5})",
        R"({"type":"integer","multipleOf":12345,"minimum":0})",
        R"({"minimum":1e30})",
        R"({"oneOf":[{"type":"integer"},{"minimum":2}]})",
        R"({"$ref":"http://x/y"})",
        R"({"properties":{"a":true},"maxProperties":1,"type":"object"})",
        R"({"additionalProperties":true,"minProperties":2,"type":"object"})",
        R"({"allOf":[{"pattern":"a"},{"pattern":"b"}]})"})
    EXPECT_EQ(error_of(text, Code::kUnsupported).rfind("[schema #", 0), 0u) << text;
}

TEST(JsonSchema, RefusesSchemasThatAreNone) {
  for (const char* text : {"1",
                           R"({"type":"text"})",
                           R"({"type":[1]})",
                           R"({"properties":[]})",
                           R"({"required":"a"})",
                           R"({"required":[1]})",
                           R"({"enum":1})",
                           R"({"anyOf":[]})",
                           R"({"anyOf":{}})",
                           R"({"allOf":[]})",
                           R"({"minLength":-1})",
                           R"({"minItems":"1"})",
                           R"({"maximum":"1"})",
                           R"({"multipleOf":0})",
                           R"({"pattern":1})",
                           R"({"pattern":"("})",
                           R"({"prefixItems":{}})",
                           R"({"items":1})",
                           R"({"$ref":1})",
                           R"({"minLength":1.5})"})
    EXPECT_EQ(error_of(text, Code::kParseError).rfind("[schema #", 0), 0u) << text;
  EXPECT_EQ(error_of(R"({"$ref":"#/$defs/x"})", Code::kParseError).rfind("[schema #/$ref]", 0), 0u);
}

TEST(JsonSchema, RefusesSchemasThatNoTextSatisfies) {
  for (const char* text :
       {"false", R"({"enum":[]})", R"({"type":"integer","minimum":2,"maximum":1})",
        R"({"type":"string","minLength":2,"maxLength":1})", R"({"const":1,"enum":[2]})",
        R"({"type":"object","properties":{"a":false},"required":["a"]})",
        R"({"type":"object","required":["a"],"additionalProperties":false})",
        R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})", R"({"$ref":"#"})",
        R"({"anyOf":[{"$ref":"#"}]})", R"({"type":"number","exclusiveMinimum":1,"maximum":1})"})
    EXPECT_NE(error_of(text, Code::kInvalidArgument), "") << text;
}

TEST(JsonSchema, AReferenceThatLeadsToItselfBesideOthersIsLeftRecursion) {
  EXPECT_NE(error_of(R"({"anyOf":[{"$ref":"#"},{"type":"null"}]})", Code::kInvalidArgument)
                .find("left recursion"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"allOf":[{"$ref":"#"}]})", Code::kUnsupported), "");
}

TEST(JsonSchema, WhiteSpaceIsCompactOrBounded) {
  constexpr const char* kSchema =
      R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"null"}}},
          "required":["a"],"additionalProperties":false})";
  const Schema compact(kSchema);
  EXPECT_TRUE(compact.takes(R"({"a": [null, null,null]})"));
  EXPECT_FALSE(compact.takes(R"({ "a":[]})"));
  EXPECT_FALSE(compact.takes(R"({"a":  []})"));
  EXPECT_FALSE(compact.takes("{\"a\":\n[]}"));
  JsonGrammarOptions options;
  options.spacing = JsonSpacing::kFree;
  const Schema free(kSchema, options);
  EXPECT_TRUE(free.takes("{\n  \"a\" : [ null\t,\r\n null ]\n}"));
  EXPECT_TRUE(free.takes("{\"a\":[ ]}"));
  EXPECT_TRUE(free.takes("{\"a\":" + std::string(40, ' ') + "[]}"));
  EXPECT_FALSE(free.takes("{\"a\":" + std::string(41, ' ') + "[]}"));
}

TEST(JsonSchema, StrictModeClosesObjectsThatNameProperties) {
  JsonGrammarOptions options;
  options.closes_objects = true;
  const Schema schema(R"({"type":"object","properties":{"a":{"type":"object"}},"required":["a"]})",
                      options);
  EXPECT_TRUE(schema.takes(R"({"a":{"x":1}})"));
  EXPECT_FALSE(schema.takes(R"({"a":{},"b":1})"));
}

TEST(JsonObject, IsAnyObjectAndNothingElse) {
  const auto grammar = grammar_of_json_object();
  ASSERT_TRUE(grammar.ok());
  const auto takes = [&](std::string_view text) {
    GrammarMatcher matcher(*grammar);
    return matcher.accept(text) && matcher.is_complete();
  };
  EXPECT_TRUE(takes("{}"));
  EXPECT_TRUE(takes(R"({"a": {"b":[1, "x", {}, [], true]}, "é":-1.5e3})"));
  EXPECT_FALSE(takes("[]"));
  EXPECT_FALSE(takes("{} "));
  EXPECT_FALSE(takes(R"({"a":1 })"));
}

// Hostile schemas end soon (bench/grammar has the times), in a grammar or in an error.
TEST(HostileSchema, LongEnumsAndManyPropertiesAreFine) {
  Json schema = Json::object();
  schema["enum"] = Json::array();
  for (int i = 0; i < 20'000; ++i) schema["enum"].push_back("value" + std::to_string(i));
  const auto grammar = grammar_from_json_schema(schema);
  ASSERT_TRUE(grammar.ok());
  EXPECT_TRUE(GrammarMatcher(*grammar).accept("\"value19999\""));
  EXPECT_FALSE(GrammarMatcher(*grammar).accept("\"value20000\""));

  Json object = json(R"({"type":"object","properties":{}})");
  for (int i = 0; i < 2000; ++i)
    append_member(object["properties"], "p" + std::to_string(i), json(R"({"type":"null"})"));
  const auto wide = grammar_from_json_schema(object);
  ASSERT_TRUE(wide.ok()) << wide.status().message();
  EXPECT_TRUE(GrammarMatcher(*wide).accept(R"({"p7":null,"p1999":null})"));
  EXPECT_FALSE(GrammarMatcher(*wide).accept(R"({"p8":null,"p7")"));
}

TEST(HostileSchema, HugeCountsAreCounted) {
  const auto grammar = grammar_from_json_schema(json(R"({"type":"array","items":{"type":"null"},
    "minItems":1000000000,"maxItems":1000000000})"));
  ASSERT_TRUE(grammar.ok());
  GrammarMatcher matcher(*grammar);
  EXPECT_TRUE(matcher.accept("[null,null"));
  EXPECT_FALSE(matcher.accept("]"));
}

TEST(HostileSchema, DepthIsRefused) {
  std::string text = "true";
  for (int i = 0; i < 1000; ++i) text = R"({"items":)" + text + "}";
  const auto grammar = grammar_from_json_schema(json(text));
  ASSERT_FALSE(grammar.ok());
  EXPECT_EQ(grammar.status().code(), Code::kUnsupported);
  std::string value = "1";
  for (int i = 0; i < 1000; ++i) value = "[" + value + "]";
  EXPECT_FALSE(grammar_from_json_schema(json(R"({"const":)" + value + "}")).ok());
}

// What an enum allows is tried with the grammar of the other keywords, which refers to it.
TEST(JsonSchema, RefusesReferencesThatAreNotWellFormed) {
  for (const char* reference : {"#/$defs/%zz", "#/$defs/%-1", "#/$defs/%2"}) {
    Json schema = json(R"({"$defs":{"a":true}})");
    schema["$ref"] = reference;
    const auto grammar = grammar_from_json_schema(schema);
    ASSERT_FALSE(grammar.ok()) << reference;
    EXPECT_EQ(grammar.status().code(), Code::kParseError) << grammar.status().message();
  }
}

TEST(HostileSchema, EnumsThatReferToThemselvesAreRefused) {
  for (const char* text :
       {R"({"enum":[1],"items":{"$ref":"#"}})", R"({"const":1,"properties":{"a":{"$ref":"#"}}})"}) {
    const auto grammar = grammar_from_json_schema(json(text));
    ASSERT_FALSE(grammar.ok()) << text;
    EXPECT_EQ(grammar.status().code(), Code::kUnsupported) << grammar.status().message();
  }
}

TEST(JsonSchema, OneOfIsRefusedWhereValuesMayBeEqual) {
  for (const char* text : {R"({"oneOf":[{"enum":[2]},{"enum":[2.0]}]})",
                           R"({"oneOf":[{"enum":[{"a":1,"b":2}]},{"enum":[{"b":2,"a":1}]}]})"}) {
    const auto grammar = grammar_from_json_schema(json(text));
    ASSERT_FALSE(grammar.ok()) << text;
    EXPECT_EQ(grammar.status().code(), Code::kUnsupported) << grammar.status().message();
  }
}

TEST(HostileSchema, ReferencesThatMultiplyAreStopped) {
  Json schema = json(R"({"$ref":"#/$defs/0","$defs":{}})");
  for (int i = 0; i < 50; ++i) {
    const std::string next = R"({"$ref":"#/$defs/)" + std::to_string(i + 1) + R"("})";
    schema["$defs"][std::to_string(i)] = json(R"({"allOf":[)" + next + "," + next + "]}");
  }
  schema["$defs"]["50"] = true;
  EXPECT_FALSE(grammar_from_json_schema(schema).ok());
}

TEST(HostileSchema, PatternsWithHugeCountsCompileOrAreRefused) {
  EXPECT_TRUE(
      grammar_from_json_schema(json(R"({"type":"string","pattern":"^(a{1,100000}b){1,100000}$"})"))
          .ok());
  EXPECT_FALSE(
      grammar_from_json_schema(json(R"({"type":"string","pattern":"(a?){2,100000}"})")).ok());
  EXPECT_FALSE(grammar_from_json_schema(
                   json(R"({"type":"string","pattern":")" + std::string(5000, '(') + "\"}"))
                   .ok());
}

}  // namespace
}  // namespace anemone::grammar
