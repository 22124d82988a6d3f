// SPDX-License-Identifier: Apache-2.0
// Which answers follow a form: each is a text that the parser of answers takes apart as well.
#include "engine/constraint/answer_grammar.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/json.h"
#include "engine/constraint/call_grammar.h"
#include "grammar/automaton/matcher.h"
#include "text/tools/answer_parser.h"

namespace anemone::engine {
namespace {

using text::CallSyntax;

constexpr const char* kWeather = R"({"type": "object", "required": ["city"], "properties": {
    "city": {"type": "string", "description": "d"}, "days": {"type": "integer"},
    "unit": {"enum": ["C", "F"]}, "at": {"$ref": "#/$defs/place"}},
    "$defs": {"place": {"type": "array", "items": {"type": "number"}, "maxItems": 2}}})";

AnswerForm form_of(CallSyntax syntax, AnswerForm::Calls calls = AnswerForm::Calls::kRequired,
                   bool is_parallel = true) {
  std::vector<text::ToolFunction> functions;
  functions.push_back({"weather", *parse_json(kWeather, "schema")});
  functions.push_back({"now", *parse_json(R"({"type": "object", "properties": {}})", "schema")});
  AnswerForm form;
  form.syntax.calls = syntax;
  form.calls = calls;
  form.tools = std::make_shared<const text::ToolSet>(std::move(functions));
  form.is_parallel = is_parallel;
  return form;
}

bool follows(const AnswerForm& form, std::string_view text) {
  const auto grammar = grammar_of(form);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  if (!grammar.ok()) return false;
  grammar::GrammarMatcher matcher(*grammar);
  return matcher.accept(text) && matcher.is_complete();
}

// The names of the calls that the parser finds, or what content it leaves.
std::string calls_in(const AnswerForm& form, std::string_view text) {
  text::AnswerParser parser({form.syntax, form.tools, form.is_in_reasoning});
  std::string out;
  const auto add = [&](const std::vector<text::AnswerEvent>& events) {
    for (const text::AnswerEvent& event : events) {
      if (event.kind == text::AnswerEvent::Kind::kCallBegin) out += event.text + " ";
      if (event.kind == text::AnswerEvent::Kind::kContent) out += "content:" + event.text;
    }
  };
  add(parser.push(text));
  add(parser.finish());
  return out;
}

struct CallCase {
  const char* name;
  CallSyntax syntax;
  const char* one;    // a call of weather
  const char* two;    // and one of now; null: there is no form for it
  const char* wrong;  // arguments that are not valid
};

const CallCase kCases[] = {
    {"Hermes", CallSyntax::kHermes,
     "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"P\", \"days\": 3}}\n"
     "</tool_call>",
     "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"P\"}}\n</tool_call>\n"
     "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>",
     "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"days\": 3}}\n</tool_call>"},
    {"QwenXml", CallSyntax::kQwenXml,
     "<tool_call>\n<function=weather>\n<parameter=city>\nNew\nYork</p>\n</parameter>\n"
     "<parameter=unit>\nC\n</parameter>\n<parameter=at>\n[1, 2.5]\n</parameter>\n</function>\n"
     "</tool_call>",
     "<tool_call>\n<function=weather>\n<parameter=city>\nP\n</parameter>\n</function>\n"
     "</tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>",
     "<tool_call>\n<function=weather>\n<parameter=city>\nP\n</parameter>\n<parameter=unit>\nK\n"
     "</parameter>\n</function>\n</tool_call>"},
    {"Llama", CallSyntax::kLlama,
     R"({"name": "weather", "parameters": {"city": "P", "unit": "F"}})", nullptr,
     R"({"name": "weather", "parameters": {"city": 1}})"},
    {"MistralList", CallSyntax::kMistralList,
     R"([TOOL_CALLS][{"name": "weather", "arguments": {"city": "P"}, "id": "a1B2c3D4e"}])",
     R"([TOOL_CALLS][{"name": "weather", "arguments": {"city": "P"}}, {"name": "now", "arguments": {}}])",
     R"([TOOL_CALLS][{"name": "else", "arguments": {}}])"},
    {"MistralNamed", CallSyntax::kMistralNamed,
     R"([TOOL_CALLS]weather[CALL_ID]a1B2c3D4e[ARGS]{"city": "P"})",
     R"([TOOL_CALLS]weather[ARGS]{"city": "P"}[TOOL_CALLS]now[ARGS]{})",
     R"([TOOL_CALLS]weather[ARGS]{"city": "P", "more": 1})"},
    {"JsonList", CallSyntax::kJsonList,
     R"(<|tool_call|>[{"name": "weather", "arguments": {"city": "P"}}])",
     R"(<|tool_call|>[{"name": "weather", "arguments": {"city": "P"}}, {"name": "now", "arguments": {}}]<|/tool_call|>)",
     R"(<|tool_call|>[])"},
    {"Harmony", CallSyntax::kHarmony,
     "<|channel|>analysis<|message|>Any.<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.weather <|constrain|>json<|message|>{\"city\": \"P\", \"at\": [1]}",
     nullptr, "<|channel|>final<|message|>No."},
    {"Python", CallSyntax::kPython,
     R"(<|tool_call_start|>[weather(city="P", unit="C", at=[1, 2])]<|tool_call_end|>)",
     R"(<|tool_call_start|>[weather(city="P", days=2), now()]<|tool_call_end|>)",
     R"(<|tool_call_start|>[weather(days=2)]<|tool_call_end|>)"},
    {"Gemma", CallSyntax::kGemma,
     "<|tool_call>call:weather{at:[1,2.5],city:<|\"|>New\n\"York\" <3<|\"|>,days:3,"
     "unit:<|\"|>C<|\"|>}<tool_call|>",
     "<|tool_call>call:weather{city:<|\"|>P<|\"|>}<tool_call|><|tool_call>call:now{}<tool_call|>",
     "<|tool_call>call:weather{city:<|\"|>P<|\"|>,unit:<|\"|>K<|\"|>}<tool_call|>"},
};

class CallGrammarTest : public ::testing::TestWithParam<CallCase> {};
INSTANTIATE_TEST_SUITE_P(Syntaxes, CallGrammarTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST_P(CallGrammarTest, TakesValidCallsAndNothingElse) {
  const AnswerForm form = form_of(GetParam().syntax);
  EXPECT_TRUE(follows(form, GetParam().one));
  EXPECT_EQ(calls_in(form, GetParam().one), "weather ");
  EXPECT_FALSE(follows(form, GetParam().wrong));
  EXPECT_FALSE(follows(form, ""));
  EXPECT_FALSE(follows(form, "text"));
  const AnswerForm single =
      form_of(GetParam().syntax, AnswerForm::Calls::kRequired, /*is_parallel=*/false);
  EXPECT_TRUE(follows(single, GetParam().one));
  if (GetParam().two == nullptr) return;
  EXPECT_TRUE(follows(form, GetParam().two));
  EXPECT_EQ(calls_in(form, GetParam().two), "weather now ");
  EXPECT_FALSE(follows(single, GetParam().two));
}

TEST_P(CallGrammarTest, TakesTextBeforeStrictCalls) {
  const CallSyntax syntax = GetParam().syntax;
  if (!can_be_strict(syntax)) return;
  const AnswerForm form = form_of(syntax, AnswerForm::Calls::kStrict);
  EXPECT_TRUE(follows(form, "Just text < and [."));
  EXPECT_TRUE(follows(form, std::string("Text.\n") + GetParam().two));
  EXPECT_EQ(calls_in(form, std::string("Text.\n") + GetParam().two), "content:Text.weather now ");
  EXPECT_FALSE(follows(form, std::string("Text.\n") + GetParam().wrong));
}

TEST_P(CallGrammarTest, TakesContentOfAFormatOrCalls) {
  AnswerForm form = form_of(GetParam().syntax, AnswerForm::Calls::kAllowed);
  form.format = ResponseFormat{.kind = ResponseFormat::Kind::kChoice, .choices = {"yes", "no"}};
  const bool is_harmony = GetParam().syntax == CallSyntax::kHarmony;
  EXPECT_TRUE(follows(form, is_harmony ? "<|channel|>final<|message|>yes" : "yes"));
  EXPECT_TRUE(follows(form, GetParam().one));
  EXPECT_FALSE(follows(form, GetParam().wrong));
  EXPECT_FALSE(follows(form, "maybe"));
}

// The value that a client gets for the parameter "a" of this schema, when the model writes `text`
// for it between the two parts of a call; "refused" where the grammar does not let it.
std::string argument_of(CallSyntax syntax, const std::string& schema, const std::string& before,
                        const std::string& text, const std::string& behind) {
  std::vector<text::ToolFunction> functions;
  functions.push_back(
      {"f",
       *parse_json(R"({"type": "object", "required": ["a"], "properties": {"a": )" + schema +
                       R"(}, "$defs": {"name": {"type": "string"}, "unit": {"enum": ["C", "F"]},
                                "loop": {"$ref": "#/$defs/loop"}}})",
                   "schema")});
  AnswerForm form = form_of(syntax);
  form.tools = std::make_shared<const text::ToolSet>(std::move(functions));
  const std::string answer = before + text + behind;
  if (!follows(form, answer)) return "refused";
  text::AnswerParser parser({form.syntax, form.tools, form.is_in_reasoning});
  std::vector<text::AnswerEvent> events = parser.push(answer);
  for (text::AnswerEvent& event : parser.finish()) events.push_back(std::move(event));
  std::string out;
  for (const text::AnswerEvent& event : events) {
    EXPECT_NE(event.kind, text::AnswerEvent::Kind::kContent) << event.text;
    if (event.kind == text::AnswerEvent::Kind::kArguments) out += event.text;
  }
  const auto arguments = parse_json(out, "arguments");
  EXPECT_TRUE(arguments.ok()) << out;
  return arguments.ok() ? dump_json((*arguments)["a"]) : out;
}

std::string argument(const std::string& schema, const std::string& text) {
  return argument_of(CallSyntax::kQwenXml, schema, "<tool_call>\n<function=f>\n<parameter=a>\n",
                     text, "\n</parameter>\n</function>\n</tool_call>");
}

// Quotes of `text` stand for the marks around texts.
std::string gemma_argument(const std::string& schema, const std::string& text) {
  std::string marked;
  for (const char byte : text) marked += byte == '\'' ? "<|\"|>" : std::string(1, byte);
  return argument_of(CallSyntax::kGemma, schema, "<|tool_call>call:f{a:", marked, "}<tool_call|>");
}

TEST(XmlArguments, AreTextsWhereAnAlternativeTakesTexts) {
  for (const char* schema :
       {R"({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null})",
        R"({"oneOf": [{"type": "null"}, {"$ref": "#/$defs/name"}]})",
        R"({"allOf": [{"anyOf": [{"$ref": "#/$defs/name"}, {"const": null}]}]})"}) {
    EXPECT_EQ(argument(schema, "Paris"), R"("Paris")") << schema;
    EXPECT_EQ(argument(schema, R"("Paris")"), R"("\"Paris\"")") << schema;
    EXPECT_EQ(argument(schema, "5"), R"("5")") << schema;
    EXPECT_EQ(argument(schema, "null"), "null") << schema;
  }
  EXPECT_EQ(argument(R"({"$ref": "#/$defs/name", "title": "A"})", "12"), R"("12")");
  EXPECT_EQ(argument(R"({"anyOf": [{"type": "string"}, {"type": "integer"}]})", "12"), "12");
}

TEST(XmlArguments, AreJsonWhereTheSchemaTakesAnything) {
  EXPECT_EQ(argument("{}", R"("Paris")"), R"("Paris")");
  EXPECT_EQ(argument("{}", "Paris"), "refused");
  EXPECT_EQ(argument("true", R"({"b": ["c"]})"), R"({"b":["c"]})");
  EXPECT_EQ(argument(R"({"anyOf": [{"type": "string"}, {}]})", R"("a")"), R"("a")");
}

TEST(XmlArguments, AreOfTheListedValues) {
  const std::string optional = R"({"anyOf": [{"$ref": "#/$defs/unit"}, {"type": "null"}]})";
  EXPECT_EQ(argument(optional, "C"), R"("C")");
  EXPECT_EQ(argument(optional, "null"), "null");
  EXPECT_EQ(argument(optional, "K"), "refused");
  EXPECT_EQ(argument(R"({"const": "one"})", "one"), R"("one")");
  EXPECT_EQ(argument(R"({"const": "one"})", "two"), "refused");
  EXPECT_EQ(argument(R"({"enum": ["a", 1, null]})", "1"), "1");
  EXPECT_EQ(argument(R"({"enum": ["a", 1, null]})", "2"), "refused");
  EXPECT_EQ(argument(R"({"type": "string", "enum": ["1", 2]})", "1"), R"("1")");
  EXPECT_EQ(argument(R"({"type": "string", "enum": ["1", 2]})", "2"), "refused");
}

TEST(XmlArguments, EndWhereTheParserEndsThem) {
  EXPECT_EQ(argument(R"({"type": "string"})", "a</parameter>b"), "refused");
  EXPECT_EQ(argument(R"({"type": "string"})", "a</parameter b\n\n"), R"("a</parameter b\n\n")");
}

TEST(XmlArguments, HoldTheLimitsOfTexts) {
  EXPECT_EQ(argument(R"({"type": "string", "maxLength": 2})", "\u00e4b"), "\"\u00e4b\"");
  EXPECT_EQ(argument(R"({"type": "string", "maxLength": 2})", "abc"), "refused");
  EXPECT_EQ(argument(R"({"type": "string", "minLength": 1})", ""), "refused");
  EXPECT_EQ(argument(R"({"type": "string", "minLength": 1})", "a\nb"), R"("a\nb")");
  EXPECT_EQ(argument(R"({"type": "string", "format": "date"})", "2024-02-03"), R"("2024-02-03")");
  EXPECT_EQ(argument(R"({"type": "string", "format": "date"})", "soon"), "refused");
  const std::string nullable = R"({"type": ["string", "null"], "format": "date"})";
  EXPECT_EQ(argument(nullable, "null"), "null");
  EXPECT_EQ(argument(nullable, "soon"), "refused");
}

TEST(GemmaArguments, HaveTextsBetweenMarks) {
  const std::string text = R"({"type": "string"})";
  EXPECT_EQ(gemma_argument(text, "'Pa\"ris\\\n'"), R"("Pa\"ris\\\n")");
  EXPECT_EQ(gemma_argument(text, "''"), R"("")");
  EXPECT_EQ(gemma_argument(text, "'a < b <| c <tool_call'"), R"("a < b <| c <tool_call")");
  EXPECT_EQ(gemma_argument(text, "Paris"), "refused");
  EXPECT_EQ(gemma_argument(text, "\"Paris\""), "refused");
  // Where the parser would end the call, or begin another one.
  EXPECT_EQ(gemma_argument(text, "'a<tool_call|>'"), "refused");
  EXPECT_EQ(gemma_argument(text, "'a<|tool_call>'"), "refused");
  const std::string short_text = R"({"type": "string", "minLength": 1, "maxLength": 2})";
  EXPECT_EQ(gemma_argument(short_text, "'\u00e4b'"), "\"\u00e4b\"");
  EXPECT_EQ(gemma_argument(short_text, "'abc'"), "refused");
  EXPECT_EQ(gemma_argument(short_text, "''"), "refused");
  EXPECT_EQ(gemma_argument(short_text, "'<'"), "refused");
  const std::string pattern = R"({"type": "string", "pattern": "^[a-c\"]+.$"})";
  EXPECT_EQ(gemma_argument(pattern, "'a\"b!'"), R"("a\"b!")");
  EXPECT_EQ(gemma_argument(pattern, "'x!'"), "refused");
  EXPECT_EQ(gemma_argument(pattern, "'a<'"), "refused");
  EXPECT_EQ(gemma_argument(R"({"type": "string", "format": "date"})", "'2024-02-03'"),
            R"("2024-02-03")");
}

TEST(GemmaArguments, AreOfTheListedValues) {
  const std::string schema = R"({"enum": ["a<b", 1, null, {"k": ["v"]}]})";
  EXPECT_EQ(gemma_argument(schema, "'a<b'"), R"("a<b")");
  EXPECT_EQ(gemma_argument(schema, "1"), "1");
  EXPECT_EQ(gemma_argument(schema, "null"), "null");
  EXPECT_EQ(gemma_argument(schema, "{k:['v']}"), R"({"k":["v"]})");
  EXPECT_EQ(gemma_argument(schema, "'1'"), "refused");
  const std::string limited = R"({"type": "string", "enum": ["a", "abc"], "maxLength": 2})";
  EXPECT_EQ(gemma_argument(limited, "'a'"), R"("a")");
  EXPECT_EQ(gemma_argument(limited, "'abc'"), "refused");
}

TEST(GemmaArguments, HaveBareNamesInTheirOrder) {
  const std::string schema = R"({"type": "object", "required": ["b"], "properties": {
      "b": {"type": "array", "items": {"type": "string"}}, "C": {"$ref": "#/$defs/unit"},
      "a": {"type": "boolean"}, "x:y": {"type": "integer"}}})";
  EXPECT_EQ(gemma_argument(schema, "{a:true,b:['x','y'],C:'F','x:y':-1}"),
            R"({"a":true,"b":["x","y"],"C":"F","x:y":-1})");
  EXPECT_EQ(gemma_argument(schema, "{b:[]}"), R"({"b":[]})");
  EXPECT_EQ(gemma_argument(schema, "{b:[],a:true}"), "refused");
  EXPECT_EQ(gemma_argument(schema, "{a:true}"), "refused");
  EXPECT_EQ(gemma_argument(schema, "{'b':[]}"), "refused");
  EXPECT_EQ(gemma_argument(schema, "{b: []}"), "refused");
}

TEST(GemmaArguments, TakeOtherNamesWhereTheSchemaDoes) {
  const std::string schema = R"({"type": "object", "properties": {"ab": {"type": "integer"}},
                                 "additionalProperties": {"type": "boolean"}})";
  EXPECT_EQ(gemma_argument(schema, "{ab:1,a:true,abc:false}"), R"({"ab":1,"a":true,"abc":false})");
  EXPECT_EQ(gemma_argument(schema, "{\u00e4.b-1:true}"), "{\"\u00e4.b-1\":true}");
  for (const char* other : {"{ab:true}", "{abc:1}", "{:true}", "{ a:true}", "{a b:true}"})
    EXPECT_EQ(gemma_argument(schema, other), "refused") << other;
  EXPECT_EQ(gemma_argument("{}", "{x:{y:[1.5,null,'t',{}]},z:[]}"),
            R"({"x":{"y":[1.5,null,"t",{}]},"z":[]})");
  const std::string named = R"({"type": "object", "propertyNames": {"pattern": "^[xy]+$"}})";
  EXPECT_EQ(gemma_argument(named, "{'xy':1}"), R"({"xy":1})");
  EXPECT_EQ(gemma_argument(named, "{'z':1}"), "refused");
}

TEST(AnswerGrammar, LeavesTheReasoningFree) {
  AnswerForm form;
  form.format = ResponseFormat{.kind = ResponseFormat::Kind::kChoice, .choices = {"yes", "no"}};
  EXPECT_TRUE(follows(form, "yes"));
  EXPECT_FALSE(follows(form, "<think>a</think>yes")) << "the model has no reasoning";
  form.syntax = {CallSyntax::kHermes, "<think>", "</think>"};
  EXPECT_TRUE(follows(form, "yes"));
  EXPECT_TRUE(follows(form, "<think>\nmaybe < </thin\n</think>\n\nno"));
  EXPECT_FALSE(follows(form, "<think>maybe</think>maybe"));
  EXPECT_FALSE(follows(form, "<think>no"));
  form.is_in_reasoning = true;
  EXPECT_TRUE(follows(form, "maybe</think>\nno"));
  EXPECT_FALSE(follows(form, "no"));
}

TEST(AnswerGrammar, SaysWhatItCannotFollow) {
  EXPECT_EQ(grammar_of(form_of(CallSyntax::kNone)).status().code(), Code::kUnsupported);
  const auto refused = [](const char* schema, CallSyntax syntax) {
    std::vector<text::ToolFunction> functions;
    functions.push_back({"f", *parse_json(schema, "schema")});
    AnswerForm form = form_of(syntax);
    form.tools = std::make_shared<const text::ToolSet>(std::move(functions));
    return grammar_of(form).status().message();
  };
  EXPECT_EQ(refused(R"({"type": "object", "properties": {"a": {"not": {}}}})", CallSyntax::kHermes),
            "[tools#/properties/a/not] expected a schema without the keyword not, which is not "
            "supported (function f)");
  EXPECT_TRUE(refused(R"({"type": "object", "properties": {"a>": {"type": "string"}}})",
                      CallSyntax::kQwenXml)
                  .starts_with("[tools#/properties] expected parameters named with letters"));
  for (const char* schema :
       {R"({"type": "string", "pattern": "^a"})", R"({"type": "string", "not": {"const": "a"}})",
        R"({"enum": ["a</parameter>"]})", R"({"type": "string", "enum": ["a"], "maxLength": 3})",
        R"({"anyOf": [{"type": "string"}, {"type": "null"}], "maxLength": 3})",
        R"({"oneOf": [{"enum": ["a"]}, {"enum": ["a", "b"]}]})",
        R"({"type": "string", "minLength": 3, "maxLength": 2})",
        R"({"type": "string", "format": "color"})"}) {
    const std::string message =
        refused((R"({"type": "object", "properties": {"a": )" + std::string(schema) + "}}").c_str(),
                CallSyntax::kQwenXml);
    EXPECT_TRUE(message.starts_with("[tools#/properties/a")) << schema << ": " << message;
    EXPECT_TRUE(message.ends_with(" (function f)")) << schema << ": " << message;
  }
  for (const auto& [schema, keyword] :
       {std::pair(R"({"type": "string", "enum": ["a"], "maxLength": 3})", "maxLength"),
        {R"({"type": "string", "enum": ["a"], "minLength": 1})", "minLength"},
        {R"({"type": "string", "const": "a", "minLength": 1, "maxLength": 3})", "maxLength"},
        {R"({"type": "string", "pattern": "^a"})", "pattern"},
        {R"({"anyOf": [{"type": "string"}, {"type": "null"}], "maxLength": 3})", "maxLength"}})
    EXPECT_EQ(
        refused((R"({"type": "object", "properties": {"a": )" + std::string(schema) + "}}").c_str(),
                CallSyntax::kQwenXml),
        "[tools#/properties/a/" + std::string(keyword) +
            "] expected a schema that allows strings to be without this keyword: this model's "
            "calls cannot be constrained by it (function f)")
        << schema;
  EXPECT_EQ(refused(R"({"anyOf": [{"type": "object"}]})", CallSyntax::kPython),
            "[tools#/anyOf] expected an object schema with properties and without anyOf at its "
            "top, to which this model's calls can be constrained (function f)");
  for (const char* schema : {R"({"enum": ["a", "<|\"|>"]})", R"({"const": ["<tool_call|>"]})",
                             R"({"type": "object", "properties": {"<|tool_call>": {}}})"}) {
    const std::string message =
        refused((R"({"type": "object", "properties": {"a": )" + std::string(schema) + "}}").c_str(),
                CallSyntax::kGemma);
    EXPECT_TRUE(message.starts_with("[tools#/properties/a")) << message;
    EXPECT_NE(message.find("texts that can be written between marks"), std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace anemone::engine
