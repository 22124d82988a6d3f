// SPDX-License-Identifier: Apache-2.0
// Texts that have to follow a form, from the request to the token.
#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "engine/generation/text_request.h"
#include "engine/loop/engine.h"
#include "tests/engine/scripted_model.h"

namespace anemone::engine {
namespace {

using testing::bytes_of;
using testing::ended;
using testing::kImEnd;
using testing::ScriptedModel;
using testing::ScriptOptions;

constexpr char kPerson[] =
    R"({"type": "object", "required": ["name", "age"], "properties": {
        "name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "minimum": 0}}})";

ResponseFormat schema(std::string text) {
  return {.kind = ResponseFormat::Kind::kJsonSchema, .source = std::move(text)};
}
ResponseFormat choice(std::vector<std::string> choices) {
  return {.kind = ResponseFormat::Kind::kChoice, .choices = std::move(choices)};
}

Result<GenerateResult> run(const ScriptedModel& scripted, const ResponseFormat& format,
                           TextRequest request = {}) {
  request.format = format;
  ANEMONE_ASSIGN_OR_RETURN(
      GenerateOptions options,
      resolve_request(std::move(request), {}, *scripted.model(), GenerateOptions::kUntilFull));
  Engine engine({});
  return generate(engine, scripted.model(), std::vector<std::int32_t>{10, 11, 12}, options);
}

TEST(Constraint, LeavesATextThatFollowsIt) {
  ScriptedModel scripted;
  scripted.say(3, ended(R"({"name":"Ada","age":36})"));
  const auto result = run(scripted, schema(kPerson));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->text, R"({"name":"Ada","age":36})");
  EXPECT_EQ(result->finish, FinishReason::kStop);
}

// Of the tokens that may come, equal logits give the lowest id.
TEST(Constraint, KeepsOtherTokensOut) {
  ScriptedModel scripted;
  scripted.say(3, ended("maybe"));
  const auto result = run(scripted, choice({"yes", "no"}));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->text, "no");
  EXPECT_EQ(result->ids, bytes_of("no"));  // nothing can follow: no step for the end
  EXPECT_EQ(result->finish, FinishReason::kStop);
}

TEST(Constraint, AllowsTheEndWhereTheTextIsComplete) {
  ScriptedModel scripted;
  scripted.say(3, ended("ab"));
  const ResponseFormat letters = {.kind = ResponseFormat::Kind::kRegex, .source = "[a-z]{4,9}"};
  const auto longer = run(scripted, letters);
  ASSERT_TRUE(longer.ok()) << longer.status().message();
  EXPECT_GE(longer->text.size(), 4u);
  EXPECT_TRUE(longer->text.starts_with("ab")) << longer->text;
  const ResponseFormat shorter = {.kind = ResponseFormat::Kind::kRegex, .source = "[a-z]{2,9}"};
  const auto result = run(scripted, shorter);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->text, "ab");
  EXPECT_EQ(result->ids.back(), kImEnd);
}

TEST(Constraint, CutsByLengthInAValidPrefix) {
  ScriptedModel scripted;
  scripted.say(3, ended(R"({"name":"Ada","age":36})"));
  TextRequest request;
  request.max_tokens = 10;
  const auto result = run(scripted, schema(kPerson), request);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->text, R"({"name":"A)");
  EXPECT_EQ(result->finish, FinishReason::kLength);
}

TEST(Constraint, HoldsForSampledTextsOfEverySeed) {
  ScriptOptions longer;
  longer.context = 256;
  ScriptedModel scripted(longer);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    TextRequest request;
    request.sampling.temperature = 3;
    request.sampling.seed = seed;
    const auto result = run(scripted, schema(R"({"type": "object", "required": ["a", "b"],
        "properties": {"a": {"type": "string", "maxLength": 5}, "b": {"enum": [1, null, "x"]}}})"),
                            request);
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_EQ(result->finish, FinishReason::kStop) << result->text;
    const auto json = parse_json(result->text, "answer");
    ASSERT_TRUE(json.ok()) << json.status().message() << ": " << result->text;
    EXPECT_EQ(json->size(), 2u);
    EXPECT_TRUE((*json)["a"].is_string()) << result->text;
    EXPECT_TRUE((*json)["b"] == 1 || (*json)["b"].is_null() || (*json)["b"] == "x") << result->text;
  }
}

TEST(Constraint, OfSeveralTextsAreIndependent) {
  ScriptedModel scripted;
  TextRequest text;
  text.format = choice({"yes", "no"});
  auto options = resolve_request(text, {}, *scripted.model(), GenerateOptions::kUntilFull);
  ASSERT_TRUE(options.ok()) << options.status().message();
  std::vector<std::string> texts;
  Request request{.model = scripted.model(), .choices = {}, .cancel = nullptr};
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Choice each{.prompt = std::vector<std::int32_t>{10, 11, 12}, .options = *options, .on_end = {}};
    each.options.sampling.greedy = false;
    each.options.sampling.seed = seed;
    each.on_end = [&](Result<GenerateResult> result) {
      texts.push_back(result.ok() ? result->text : result.status().message());
    };
    request.choices.push_back(std::move(each));
  }
  {
    Engine engine({});
    ASSERT_TRUE(engine.submit(std::move(request)).ok());
    while (engine.turn()) {
    }
  }
  ASSERT_EQ(texts.size(), 8u);
  for (const std::string& each : texts) EXPECT_TRUE(each == "yes" || each == "no") << each;
  EXPECT_NE(std::ranges::count(texts, "yes"), 0);
  EXPECT_NE(std::ranges::count(texts, "no"), 0);
}

// The constraints of a model keep the grammars of all of its requests.
TEST(Constraint, IsOfItsOwnRequestWhateverTheTextsSay) {
  const ScriptedModel scripted;
  Constraints constraints(scripted.model()->tokenizer(), {kImEnd}, testing::kPaddedVocab);
  const Json any = *parse_json(R"({"type": "object"})", "schema");
  const auto takes_calls_of_a = [&](std::vector<std::string> names, std::string pattern) {
    std::vector<text::ToolFunction> functions;
    for (std::string& name : names) functions.push_back({std::move(name), any});
    AnswerForm form;
    form.syntax.calls = text::CallSyntax::kLlama;
    form.calls = AnswerForm::Calls::kAllowed;
    form.tools = std::make_shared<const text::ToolSet>(std::move(functions));
    form.format = {.kind = ResponseFormat::Kind::kRegex, .source = std::move(pattern)};
    auto constraint = constraints.make(form);
    EXPECT_TRUE(constraint.ok()) << constraint.status().message();
    if (!constraint.ok()) return false;
    for (const std::int32_t id : bytes_of(R"({"name": "a)"))
      if (!constraint->accept(id).ok()) return false;
    return true;
  };
  EXPECT_TRUE(takes_calls_of_a({"a", "b"}, "x"));
  EXPECT_FALSE(takes_calls_of_a({"b"}, "x a false " + dump_json(any)));
}

TEST(Constraint, SaysWhatIsWrongWithAFormat) {
  ScriptedModel scripted;
  EXPECT_EQ(run(scripted, schema(R"({"type": "objet"})")).status().message(),
            "[schema #/type] expected the name of a JSON type, got \"objet\"");
  const Status cut = run(scripted, schema("{")).status();
  EXPECT_EQ(cut.code(), Code::kParseError);
  EXPECT_TRUE(cut.message().starts_with("[schema] ")) << cut.message();
  EXPECT_FALSE(run(scripted, {.kind = ResponseFormat::Kind::kRegex, .source = "(a"}).ok());
  EXPECT_FALSE(
      run(scripted, {.kind = ResponseFormat::Kind::kGrammar, .source = "root ::= x"}).ok());
  ScriptOptions ids;
  ids.has_tokenizer = false;
  ScriptedModel without(ids);
  EXPECT_EQ(run(without, choice({"a"})).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace anemone::engine
