// SPDX-License-Identifier: Apache-2.0
// Answers are taken apart into text, reasoning and calls, wherever the stream is cut.
#include "text/tools/answer_parser.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace anemone::text {
namespace {

constexpr const char* kWeather = R"({"type": "object", "properties": {
    "city": {"type": "string"}, "days": {"type": "integer"}, "dry": {"type": "boolean"},
    "note": {"type": ["string", "null"]}, "unit": {"enum": ["C", "F"]}, "more": {},
    "place": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]}},
    "$defs": {"place": {"const": "5"}, "self": {"$ref": "#/$defs/self"}}})";

std::shared_ptr<const ToolSet> tools() {
  std::vector<ToolFunction> functions;
  functions.push_back({"weather", *parse_json(kWeather, "schema")});
  functions.push_back({"now", *parse_json(R"({"type": "object", "properties": {}})", "schema")});
  return std::make_shared<const ToolSet>(std::move(functions));
}

struct Call {
  std::string name;
  std::string arguments;
  bool has_ended =
      false;  // kCallEnd came, also of a call that the end of the text or an error cut off
  bool operator==(const Call&) const = default;
};

// What an answer is made of, however it was cut.
struct Answer {
  std::string content;
  std::string reasoning;
  std::vector<Call> calls;
  bool operator==(const Answer&) const = default;

  void add(const std::vector<AnswerEvent>& events) {
    for (const AnswerEvent& event : events) switch (event.kind) {
        case AnswerEvent::Kind::kContent:
          content += event.text;
          break;
        case AnswerEvent::Kind::kReasoning:
          reasoning += event.text;
          break;
        case AnswerEvent::Kind::kCallBegin:
          EXPECT_EQ(event.call, calls.size());
          calls.push_back({event.text, ""});
          break;
        case AnswerEvent::Kind::kArguments:
          EXPECT_EQ(event.call + 1, calls.size());
          EXPECT_FALSE(calls.back().has_ended);
          calls.back().arguments += event.text;
          break;
        case AnswerEvent::Kind::kCallEnd:
          EXPECT_FALSE(calls.back().has_ended);
          calls.back().has_ended = true;
          break;
      }
  }
};

void PrintTo(const Answer& answer, std::ostream* out) {
  *out << "content \"" << answer.content << "\" reasoning \"" << answer.reasoning << '"';
  for (const Call& call : answer.calls)
    *out << ' ' << call.name << '(' << call.arguments << ')' << (call.has_ended ? "" : "...");
}

Answer parse(const AnswerParserOptions& options, const std::vector<std::string_view>& pieces) {
  AnswerParser parser(options);
  Answer out;
  for (const std::string_view piece : pieces) out.add(parser.push(piece));
  out.add(parser.finish());
  EXPECT_EQ(parser.calls(), out.calls.size());
  return out;
}

// The answer in one piece, cut at every place, and byte by byte: always the same.
Answer parse(const AnswerParserOptions& options, std::string_view text) {
  const Answer whole = parse(options, std::vector{text});
  for (std::size_t i = 1; i < text.size(); ++i)
    EXPECT_EQ(parse(options, {text.substr(0, i), text.substr(i)}), whole) << "cut at " << i;
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < text.size(); ++i) bytes.push_back(text.substr(i, 1));
  EXPECT_EQ(parse(options, bytes), whole) << "byte by byte";
  return whole;
}

AnswerParserOptions with(CallSyntax calls) {
  AnswerParserOptions options;
  options.syntax.calls = calls;
  if (calls != CallSyntax::kHarmony) {  // which has channels in place of markers
    options.syntax.reasoning_open = "<think>";
    options.syntax.reasoning_close = "</think>";
  }
  options.tools = tools();
  return options;
}

const Call kParis = {"weather", R"({"city": "Paris"})", true};

struct SyntaxCase {
  const char* name;
  CallSyntax syntax;
  const char* text;
  Answer expected;
};

class AnswerParserTest : public ::testing::TestWithParam<SyntaxCase> {};

TEST_P(AnswerParserTest, TakesTheAnswerApartWhereverItIsCut) {
  EXPECT_EQ(parse(with(GetParam().syntax), GetParam().text), GetParam().expected);
}

const SyntaxCase kCases[] = {
    {"Hermes",
     CallSyntax::kHermes,
     "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>",
     {"", "", {kParis}}},
    {"HermesWithEverything",
     CallSyntax::kHermes,
     "<think>\nLook it up.\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"weather\", "
     "\"arguments\": {\"city\": \"Paris\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"now\", "
     "\"arguments\": {}}\n</tool_call>",
     {"I look.", "Look it up.", {kParis, {"now", "{}", true}}}},
    {"HermesArgumentsFirst",
     CallSyntax::kHermes,
     R"(<tool_call>{"arguments": {"city": "Paris"}, "name": "weather"}</tool_call>)",
     {"", "", {kParis}}},
    {"HermesArgumentsInAString",
     CallSyntax::kHermes,
     R"(<tool_call>{"name": "weather", "arguments": "{\"city\": \"Paris\"}"}</tool_call>)",
     {"", "", {kParis}}},
    {"HermesNoArguments",
     CallSyntax::kHermes,
     R"(<tool_call>{"name": "now"}</tool_call> done)",
     {"done", "", {{"now", "{}", true}}}},
    {"HermesNoEnd",
     CallSyntax::kHermes,
     R"(<tool_call>{"name": "weather", "arguments": {"city": "Paris"}} </tool_ca)",
     {"</tool_ca", "", {kParis}}},
    {"HermesMarkerInside",
     CallSyntax::kHermes,
     R"(<tool_call>{"name": "weather", "arguments": {"city": "</tool_call> <tool_call>"}}</tool_call>)",
     {"", "", {{"weather", R"({"city": "</tool_call> <tool_call>"})", true}}}},
    {"HermesLineEndInAString",
     CallSyntax::kHermes,
     "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"a\nb\"}}</tool_call>",
     {"", "", {{"weather", R"({"city": "a\nb"})", true}}}},
    // Arguments that have gone out cannot be taken back: the call ends, and the rest is content.
    {"HermesCutInArguments",
     CallSyntax::kHermes,
     R"(<tool_call>{"name": "weather", "arguments": {"city": "Pa)",
     {"", "", {{"weather", R"({"city": "Pa)", true}}}},
    {"HermesCutBeforeArguments",
     CallSyntax::kHermes,
     R"(Hm <tool_call>{"name": "wea)",
     {R"(Hm <tool_call>{"name": "wea)", "", {}}},
    {"HermesOtherText",
     CallSyntax::kHermes,
     "a <tool_call> is a marker, <b> and <too",
     {"a <tool_call> is a marker, <b> and <too", "", {}}},
    {"HermesOtherJson",
     CallSyntax::kHermes,
     R"(<tool_call>{"a": 1}</tool_call>)",
     {R"(<tool_call>{"a": 1}</tool_call>)", "", {}}},
    {"HermesSecondTry",
     CallSyntax::kHermes,
     R"(<tool_call>oh <tool_call>{"name": "now"}</tool_call>)",
     {"<tool_call>oh", "", {{"now", "{}", true}}}},
    {"HermesArgumentsTwice",
     CallSyntax::kHermes,
     R"(<tool_call>{"name": "now", "arguments": {}, "parameters": {"a": 1}}</tool_call>)",
     {R"(, "parameters": {"a": 1}}</tool_call>)", "", {{"now", "{}", true}}}},
    {"HermesBadArguments",
     CallSyntax::kHermes,
     R"(<tool_call>{"name": "weather", "arguments": {"city": oops}}</tool_call>)",
     {"oops}}</tool_call>", "", {{"weather", R"({"city": )", true}}}},
    {"NoReasoningLater",
     CallSyntax::kHermes,
     "The tag <think> is text.",
     {"The tag <think> is text.", "", {}}},
    {"EmptyReasoning", CallSyntax::kHermes, "<think>\n\n</think>\n\nHello\n", {"Hello\n", "", {}}},
    {"UnendedReasoning", CallSyntax::kHermes, "<think>\nHm.\n", {"", "Hm.\n", {}}},
    {"QwenXml",
     CallSyntax::kQwenXml,
     "<think>\na\n</think>\n\n<tool_call>\n<function=weather>\n<parameter=city>\nNew\nYork\n"
     "</parameter>\n<parameter=days>\n3\n</parameter>\n<parameter=dry>\nTrue\n</parameter>\n"
     "<parameter=note>\nnull\n</parameter>\n<parameter=unit>\nC\n</parameter>\n<parameter=more>\n"
     "{\"a\": [1]}\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=now>\n"
     "</function>\n</tool_call>",
     {"",
      "a",
      {{"weather",
        R"({"city":"New\nYork","days":3,"dry":true,"note":null,"unit":"C","more":{"a":[1]}})",
        true},
       {"now", "{}", true}}}},
    {"QwenXmlTexts",
     CallSyntax::kQwenXml,
     "<tool_call><function=weather><parameter=city>12</parameter><parameter=days>many</parameter>"
     "<parameter=note>1 < 2</parameter></function></tool_call>",
     {"", "", {{"weather", R"({"city":"12","days":"many","note":"1 < 2"})", true}}}},
    {"QwenXmlAlternatives",
     CallSyntax::kQwenXml,
     "<tool_call><function=weather><parameter=place>5</parameter><parameter=more>\"a\"</parameter>"
     "</function></tool_call>",
     {"", "", {{"weather", R"({"place":"5","more":"a"})", true}}}},
    {"QwenXmlCut",
     CallSyntax::kQwenXml,
     "<tool_call>\n<function=weather>\n<parameter=city>\nPa",
     {"<tool_call>\n<function=weather>\n<parameter=city>\nPa", "", {}}},
    {"QwenXmlOther",
     CallSyntax::kQwenXml,
     "<tool_call>\n<fun>x</fun>",
     {"<tool_call>\n<fun>x</fun>", "", {}}},
    {"Llama",
     CallSyntax::kLlama,
     R"({"name": "weather", "parameters": {"city": "Paris"}})",
     {"", "", {kParis}}},
    {"LlamaTagAndType",
     CallSyntax::kLlama,
     R"(<|python_tag|>{"type": "function", "name": "weather", "parameters": {"city": "Paris"}})",
     {"", "", {kParis}}},
    {"LlamaSeveral",
     CallSyntax::kLlama,
     R"({"name": "weather", "parameters": {"city": "Paris"}}; {"name": "now", "parameters": {}})",
     {"", "", {kParis, {"now", "{}", true}}}},
    {"LlamaUnknownName",
     CallSyntax::kLlama,
     R"({"name": "else", "parameters": {"a": 1}} x)",
     {R"({"name": "else", "parameters": {"a": 1}} x)", "", {}}},
    {"LlamaJsonAnswer",
     CallSyntax::kLlama,
     R"({"city": "Paris", "n": [1, {"b": null}]})",
     {R"({"city": "Paris", "n": [1, {"b": null}]})", "", {}}},
    {"LlamaTextBefore",
     CallSyntax::kLlama,
     R"(See {"name": "now", "parameters": {}})",
     {R"(See {"name": "now", "parameters": {}})", "", {}}},
    {"MistralList",
     CallSyntax::kMistralList,
     R"([TOOL_CALLS][{"name": "weather", "arguments": {"city": "Paris"}, "id": "123456789"}, )"
     R"({"name": "now", "arguments": {}}])",
     {"", "", {kParis, {"now", "{}", true}}}},
    {"MistralListHalf",
     CallSyntax::kMistralList,
     R"([TOOL_CALLS] [{"name": "now", "arguments": {}}, {"city": 1}])",
     {R"(, {"city": 1}])", "", {{"now", "{}", true}}}},
    {"MistralNamed",
     CallSyntax::kMistralNamed,
     R"(Yes.[TOOL_CALLS]weather[CALL_ID]123456789[ARGS]{"city": "Paris"}[TOOL_CALLS]now[ARGS]{})",
     {"Yes.", "", {kParis, {"now", "{}", true}}}},
    {"MistralNoCall",
     CallSyntax::kMistralNamed,
     "[TOOL_CALLS]what is this?",
     {"[TOOL_CALLS]what is this?", "", {}}},
    {"JsonList",
     CallSyntax::kJsonList,
     R"(<|tool_call|>[{"name": "weather", "arguments": {"city": "Paris"}}]<|/tool_call|>)",
     {"", "", {kParis}}},
    {"JsonListNoEnd",
     CallSyntax::kJsonList,
     R"(<|tool_call|> [{"name": "weather", "arguments": {"city": "Paris"}}] and)",
     {"and", "", {kParis}}},
    {"Gemma",
     CallSyntax::kGemma,
     "<|tool_call>call:weather{city:<|\"|>Pa\"ris<|\"|>,days:3,more:{a:[1,true,<|\"|>,<|\"|>]}}"
     "<tool_call|><|tool_call>call:now{}<tool_call|>",
     {"",
      "",
      {{"weather", R"({"city": "Pa\"ris", "days": 3, "more": {"a": [1, true, ","]}})", true},
       {"now", "{}", true}}}},
    {"GemmaCut",
     CallSyntax::kGemma,
     "<|tool_call>call:weather{city:<|\"|>Pa",
     {"<|tool_call>call:weather{city:<|\"|>Pa", "", {}}},
    {"GemmaTwice",
     CallSyntax::kGemma,
     "<|tool_call>call:<|tool_call>call:now{}<tool_call|>",
     {"<|tool_call>call:", "", {{"now", "{}", true}}}},
    {"Python",
     CallSyntax::kPython,
     "<|tool_call_start|>[weather(city=\"Paris\"), now()]<|tool_call_end|>Wait.",
     {"Wait.", "", {kParis, {"now", "{}", true}}}},
    {"PythonLiterals",
     CallSyntax::kPython,
     "<|tool_call_start|>[f.g(a='it\\'s\\n', b=-1.5e3, c=True, d=None, e=[1, (2,)], "
     "f={'k': \"v\"},)]<|tool_call_end|>",
     {"",
      "",
      {{"f.g",
        R"({"a": "it's\n", "b": -1.5e3, "c": true, "d": null, "e": [1, [2]], "f": {"k": "v"}})",
        true}}}},
    {"PythonAsJson",
     CallSyntax::kPython,
     "<|tool_call_start|>[{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}]"
     "<|tool_call_end|>",
     {"", "", {kParis}}},
    {"PythonBad",
     CallSyntax::kPython,
     "<|tool_call_start|>[weather(Paris)]<|tool_call_end|>!",
     {"<|tool_call_start|>[weather(Paris)]<|tool_call_end|>!", "", {}}},
    {"Harmony",
     CallSyntax::kHarmony,
     "<|channel|>analysis<|message|>Look it up.<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.weather <|constrain|>json<|message|>{\"city\": \"Paris\"}<|call|>",
     {"", "Look it up.", {kParis}}},
    {"HarmonyRecipientFirst",
     CallSyntax::kHarmony,
     " to=functions.weather<|channel|>commentary json<|message|>{\"city\": \"Paris\"}",
     {"", "", {kParis}}},
    {"HarmonyFinal",
     CallSyntax::kHarmony,
     "<|channel|>analysis<|message|>Hm <3.<|end|>\n<|start|>assistant<|channel|>final<|message|>"
     "4 < 5<|return|>",
     {"4 < 5", "Hm <3.", {}}},
    {"HarmonyPreamble",
     CallSyntax::kHarmony,
     "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant to=functions.now"
     "<|channel|>commentary<|message|>{}<|call|>",
     {"I look.", "", {{"now", "{}", true}}}},
    {"HarmonyCutHeader",
     CallSyntax::kHarmony,
     "<|channel|>final<|message|>a<|end|><|start|>assist",
     {"a", "", {}}},
    {"HarmonyPlain",
     CallSyntax::kHarmony,
     "Just text <|message|> and <|end",
     {"Just text <|message|> and <|end", "", {}}},
};

INSTANTIATE_TEST_SUITE_P(Syntaxes, AnswerParserTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(AnswerParser, GivesTheArgumentsOutAsTheyCome) {
  AnswerParser parser(with(CallSyntax::kHermes));
  EXPECT_TRUE(parser.push("<tool_call>{\"name\": \"weather\", ").empty());
  EXPECT_EQ(parser.push("\"arguments\": {\"ci").size(), 2U) << "the call and its first arguments";
  const auto more = parser.push("ty\": \"P");
  ASSERT_EQ(more.size(), 1U);
  EXPECT_EQ(more[0].text, "ty\": \"P");
  EXPECT_TRUE(parser.is_call_open());
  const auto last = parser.push("\"}}");
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(last[1].kind, AnswerEvent::Kind::kCallEnd);
  EXPECT_TRUE(parser.finish().empty());
}

TEST(AnswerParser, HoldsNothingBackThatCannotBecomeAMarker) {
  AnswerParser parser(with(CallSyntax::kHermes));
  const auto first = parser.push("Hello <");
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].text, "Hello");
  EXPECT_EQ(parser.push("b> x")[0].text, " <b> x");
  AnswerParser plain(AnswerParserOptions{});
  EXPECT_EQ(plain.push(" <tool_call> ")[0].text, " <tool_call> ");
}

TEST(AnswerParser, BeginsInsideTheReasoningThatThePromptOpened) {
  auto options = with(CallSyntax::kHermes);
  options.is_in_reasoning = true;
  const Answer expected = {"Hi", "Hm.", {}};
  EXPECT_EQ(parse(options, "\nHm.\n</think>\n\nHi"), expected);
}

TEST(AnswerParser, LeavesCallsAloneWithoutTools) {
  auto options = with(CallSyntax::kHermes);
  options.tools = nullptr;
  const char* text = R"(<tool_call>{"name": "now"}</tool_call>)";
  EXPECT_EQ(parse(options, text).content, text);
}

TEST(AnswerParser, ReadsTheThoughtChannelOfGemma) {
  auto options = with(CallSyntax::kGemma);
  options.syntax.reasoning_open = "<|channel>thought\n";
  options.syntax.reasoning_close = "<channel|>";
  const Answer expected = {"Hi", "Hm.", {{"now", "{}", true}}};
  EXPECT_EQ(
      parse(options, "<|channel>thought\nHm.\n<channel|>Hi<|tool_call>call:now{}<tool_call|>"),
      expected);
}

TEST(AnswerParser, GivesUpACallThatIsTooLong) {
  // The syntaxes of Python and Gemma hold any text up to the closing marker.
  for (const CallSyntax syntax : {CallSyntax::kQwenXml, CallSyntax::kPython, CallSyntax::kGemma}) {
    const std::string open(call_open(syntax));
    const std::string text =
        open + "<function=weather><parameter=city>" + std::string(2 * kMaxHeldBytes, 'x') + "!";
    EXPECT_EQ(parse(with(syntax), std::vector{std::string_view(text)}).content, text);
  }
}

TEST(AnswerParser, TakesALongAnswerOfMarkersQuickly) {
  // A million bytes: work that grows with the square of the text would run into the timeout of
  // ctest.
  for (const auto& option : kCases) {
    const std::string open(call_open(option.syntax));
    if (open.empty()) continue;
    std::string text;
    while (text.size() < 1'000'000) text += open + " <";
    EXPECT_EQ(parse(with(option.syntax), std::vector{std::string_view(text)}).content.size(),
              text.size());
  }
}

TEST(AnswerParser, RefusesDeepNesting) {
  const std::string deep(100'000, '[');
  const auto python = parse(with(CallSyntax::kPython),
                            std::vector<std::string_view>{"<|tool_call_start|>f(a=", deep});
  EXPECT_TRUE(python.calls.empty());
  const auto hermes = parse(
      with(CallSyntax::kHermes),
      std::vector<std::string_view>{R"(<tool_call>{"name": "now", "arguments": {"a": )", deep});
  ASSERT_EQ(hermes.calls.size(), 1U);
  EXPECT_LT(hermes.calls[0].arguments.size(), 200U);
  EXPECT_GT(hermes.content.size(), deep.size() - 200);
}

}  // namespace
}  // namespace anemone::text
