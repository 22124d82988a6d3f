// SPDX-License-Identifier: Apache-2.0
// Answers in stages, from the request to the token.
#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/generation/text_request.h"
#include "engine/loop/engine.h"
#include "tests/engine/scripted_model.h"
#include "tests/engine/scripted_proposer.h"

namespace anemone::engine {
namespace {

using testing::bytes_of;
using testing::ended;
using testing::kImEnd;
using testing::kImStart;
using testing::ScriptedModel;
using testing::ScriptOptions;

const std::vector<std::int32_t> kAsked = {10, 11, 12};

ResponseFormat stages(std::string manifest) {
  return {.kind = ResponseFormat::Kind::kStages, .source = std::move(manifest)};
}

Result<GenerateResult> run(const ScriptedModel& scripted, std::string manifest,
                           TextRequest request = {}, EngineOptions engine_options = {}) {
  request.format = stages(std::move(manifest));
  ANEMONE_ASSIGN_OR_RETURN(
      GenerateOptions options,
      resolve_request(std::move(request), {}, *scripted.model(), GenerateOptions::kUntilFull));
  Engine engine(std::move(engine_options));
  return generate(engine, scripted.model(), kAsked, options);
}

constexpr char kPlan[] = R"({"name": "plan", "stages": [
    {"kind": "literal", "text": "GOAL: "}, {"kind": "field", "max_tokens": 6},
    {"kind": "literal", "text": "WHY: "}, {"kind": "field", "min_tokens": 2, "max_tokens": 4},
    {"kind": "open"}]})";

TEST(Stages, LeaveATextThatFollowsThem) {
  ScriptedModel scripted;
  scripted.say(3, ended("GOAL: add\nWHY: sum\nIt is 42."));
  const auto result = run(scripted, kPlan);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->text, "GOAL: add\nWHY: sum\nIt is 42.");
  EXPECT_EQ(result->ids.back(), kImEnd);
  EXPECT_EQ(result->finish, FinishReason::kStop);
  ASSERT_TRUE(result->stages.has_value());
  const StageCounts& counts = *result->stages;
  EXPECT_EQ(counts.name, "plan");
  EXPECT_EQ(counts.forced_tokens, 11);
  EXPECT_EQ(counts.field_content_tokens, 6);
  EXPECT_EQ(counts.field_newline_tokens, 2);
  EXPECT_EQ(counts.open_tokens, 10);
  EXPECT_EQ(counts.fields_completed, 2);
  EXPECT_EQ(counts.active_stage, 5);
  EXPECT_EQ(counts.field_token_counts, (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(counts.forced_tokens + counts.field_content_tokens + counts.field_newline_tokens +
                counts.open_tokens,
            std::ssize(result->ids));
}

TEST(Stages, ForceLiteralsWhateverTheModelSays) {
  ScriptedModel scripted;
  scripted.say(3, ended("something else, and more of it"));
  const auto result =
      run(scripted, R"({"stages": [{"kind": "literal", "text": "<|im_start|>yes"}]})");
  ASSERT_TRUE(result.ok()) << result.status().message();
  std::vector<std::int32_t> ids = {kImStart};
  for (const std::int32_t id : bytes_of("yes")) ids.push_back(id);
  EXPECT_EQ(result->ids, ids) << "nothing can follow: no step for the end";
  EXPECT_EQ(result->finish, FinishReason::kStop);
  EXPECT_EQ(result->stages->active_stage, 1);
}

// A newline or an end that comes too early is not picked; of equal logits the lowest id is.
TEST(Stages, BlockANewlineBeforeTheLeastLengthAndTheEndInAField) {
  ScriptedModel scripted;
  scripted.say(3, bytes_of("a\nb"));
  scripted.say(6, {kImEnd});
  scripted.say(7, bytes_of("\n"));
  const auto result =
      run(scripted, R"({"stages": [{"kind": "field", "min_tokens": 3, "max_tokens": 9}]})");
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->ids, (std::vector<std::int32_t>{'a', 0, 'b', 0, '\n'}));
  EXPECT_EQ(result->stages->field_token_counts, std::vector<std::int64_t>{4});
}

TEST(Stages, ForceTheNewlineAtTheGreatestLength) {
  ScriptedModel scripted;
  scripted.say(3, bytes_of("abcdefgh"));
  const auto result = run(scripted, R"({"stages": [{"kind": "field", "max_tokens": 3},
                                                   {"kind": "literal", "text": "."}]})");
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->text, "abc\n.");
  EXPECT_EQ(result->stages->field_newline_tokens, 1);
  EXPECT_EQ(result->stages->forced_tokens, 1);
}

TEST(Stages, AnEmptyFieldIsANewline) {
  ScriptedModel scripted;
  scripted.say(3, bytes_of("\n"));
  const auto result = run(scripted, R"({"stages": [{"kind": "field"}]})");
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->text, "\n");
  EXPECT_EQ(result->stages->field_token_counts, std::vector<std::int64_t>{0});
}

TEST(Stages, AnOpenStageEndsAtEachStopToken) {
  ScriptedModel scripted;
  scripted.say(3, bytes_of("line\nmore!rest"));
  const auto stopped =
      run(scripted, R"({"stages": [{"kind": "open"}], "stop_token_ids": [33, 63]})");
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  EXPECT_EQ(stopped->text, "line\nmore!");
  EXPECT_EQ(stopped->finish, FinishReason::kStop);
  EXPECT_EQ(stopped->stages->open_tokens, 10);
  EXPECT_EQ(stopped->stages->active_stage, 1);
  // The model's own end is one, too, even where it is to be ignored.
  scripted.say(3, ended("line"));
  TextRequest request;
  request.ignore_eos = true;
  const auto end =
      run(scripted, R"({"stages": [{"kind": "open"}], "stop_token_ids": [33]})", request);
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(end->ids, ended("line"));
}

// A heading comes again, whatever may not be repeated.
TEST(Stages, ForceTokensThatPenaltiesWouldKeepOut) {
  ScriptedModel scripted;
  scripted.say(3, bytes_of("ab ab ab ab ab"));
  for (const bool is_greedy : {true, false}) {
    TextRequest request;
    request.sampling.no_repeat_ngram = 1;
    request.sampling.logit_bias = {{'\n', -100.F}};
    if (!is_greedy) {
      request.sampling.temperature = 1;
      request.sampling.seed = 1;
    }
    const auto result = run(scripted, R"({"stages": [{"kind": "literal", "text": "S:"},
        {"kind": "field", "max_tokens": 1}, {"kind": "literal", "text": "S:"},
        {"kind": "field", "min_tokens": 1, "max_tokens": 1}]})",
                            request);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_TRUE(result->text.starts_with("S:")) << result->text;
    EXPECT_EQ(result->stages->fields_completed, 2);
    EXPECT_EQ(result->ids.back(), '\n');
  }
}

TEST(Stages, AnswersThatAreCutTellHowFarTheyCame) {
  ScriptedModel scripted;
  scripted.say(3, bytes_of("GOAL: abcdef"));
  TextRequest request;
  request.max_tokens = 8;
  const auto result = run(scripted, kPlan, request);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->finish, FinishReason::kLength);
  EXPECT_EQ(result->stages->active_stage, 1);
  EXPECT_EQ(result->stages->fields_completed, 0);
  EXPECT_EQ(result->stages->field_token_counts, (std::vector<std::int64_t>{2, 0}));
}

TEST(Stages, HoldForSampledTextsOfEverySeed) {
  ScriptOptions options;
  options.context = 256;
  ScriptedModel scripted(options);
  scripted.set_padding_logit(20);  // those rows are never picked
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    TextRequest request;
    request.sampling.temperature = 3;
    request.sampling.seed = seed;
    const auto result = run(scripted, R"({"stages": [{"kind": "literal", "text": "A:"},
        {"kind": "field", "min_tokens": 1, "max_tokens": 5}, {"kind": "literal", "text": "B:"},
        {"kind": "field", "min_tokens": 5, "max_tokens": 5}]})",
                            request);
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_EQ(result->finish, FinishReason::kStop);
    const auto& ids = result->ids;
    const auto newline = std::ranges::find(ids, '\n');
    const auto length = newline - ids.begin();
    ASSERT_TRUE(length >= 3 && length <= 7) << length;
    EXPECT_EQ(std::vector(newline + 1, newline + 3), bytes_of("B:"));
    EXPECT_EQ(ids.size(), static_cast<std::size_t>(length) + 9);
    EXPECT_EQ(ids.back(), '\n');
    EXPECT_EQ(std::ranges::count(ids, '\n'), 2);
    EXPECT_EQ(std::ranges::count(ids, kImEnd), 0);
  }
}

// The constraint sees the tokens that are picked, and never those that are only proposed.
TEST(Stages, AreTheSameWithProposedTokens) {
  ScriptedModel scripted;
  scripted.say(3, ended("GOAL: add\nWHY: longer than it may be"));
  const auto plain = run(scripted, kPlan);
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  std::deque<std::vector<std::int32_t>> texts(1, kAsked);
  texts[0].insert(texts[0].end(), plain->ids.begin(), plain->ids.end());
  for (const auto script : {testing::Script::kPerfect, testing::Script::kGarbage,
                            testing::Script::kMixed, testing::Script::kMadness}) {
    const auto result =
        run(scripted, kPlan, {}, testing::engine_options(1, testing::scripted(script, texts)));
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->ids, plain->ids);
    EXPECT_EQ(result->stages->field_token_counts, plain->stages->field_token_counts);
    EXPECT_EQ(result->stages->active_stage, plain->stages->active_stage);
  }
}

TEST(Stages, WorkOnIdsWithoutATokenizer) {
  ScriptOptions options;
  options.has_tokenizer = false;
  ScriptedModel scripted(options);
  scripted.say(3, {50, 51, 9, 52, kImEnd});
  const auto result = run(scripted, R"({"newline_token_id": 9, "stages": [{"kind": "field"},
      {"kind": "literal", "token_ids": [60, 263]}, {"kind": "open"}]})");
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(std::vector(result->ids.begin(), result->ids.begin() + 5),
            (std::vector<std::int32_t>{50, 51, 9, 60, 263}));
}

TEST(Stages, ChangeNoLogitOfAnAllowedToken) {
  const ScriptedModel scripted;
  auto constraint = scripted.model()->constraints().make(stages(kPlan));
  ASSERT_TRUE(constraint.ok()) << constraint.status().message();
  Constraint copy = *constraint;
  for (const std::int32_t id : bytes_of("GOAL: ")) ASSERT_TRUE(constraint->accept(id).ok());
  const auto mask = constraint->mask();
  ASSERT_TRUE(mask.ok()) << mask.status().message();
  std::vector<float> logits(testing::kPaddedVocab);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i) * 0.5F;
  const std::vector<float> before = logits;
  (*mask)->apply(logits);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const bool is_allowed = i < testing::kTextVocab && i != kImEnd;
    EXPECT_EQ(logits[i], is_allowed ? before[i] : -std::numeric_limits<float>::infinity()) << i;
  }
  EXPECT_EQ((*copy.mask())->count(), 1) << "the copy is where it was";
  EXPECT_EQ(copy.stages()->forced_tokens, 0);
}

TEST(Stages, SayWhatIsWrongWithAManifest) {
  const ScriptedModel scripted;
  EXPECT_EQ(run(scripted, R"({"stages": []})").status().message(),
            "[stages#/stages] expected 1 to 1024 stages, got 0");
  ResponseFormat named = stages("5");
  named.subject = "a subject that is too long to lie within a string";
  EXPECT_EQ(scripted.model()->constraints().make(named).status().message(),
            "[a subject that is too long to lie within a string] expected an object, got number");
}

TEST(Stages, RefuseTokensThatAreNotAllowed) {
  const ScriptedModel scripted;
  auto constraint = scripted.model()->constraints().make(
      stages(R"({"stages": [{"kind": "literal", "text": "a"}, {"kind": "field"}]})"));
  ASSERT_TRUE(constraint.ok()) << constraint.status().message();
  EXPECT_EQ(constraint->accept('b').message(),
            "[stages] expected a token that the stage allows, got token 98 (stage 0)");
  EXPECT_TRUE(constraint->accept('a').ok());
  EXPECT_FALSE(constraint->accept(kImEnd).ok());
  EXPECT_FALSE(constraint->accept(-1).ok());
  EXPECT_TRUE(constraint->accept('\n').ok());
  EXPECT_TRUE(constraint->has_ended());
  EXPECT_EQ(constraint->mask().status().message(),
            "[stages] expected no token after the end of the text");
  EXPECT_FALSE(constraint->accept('c').ok());
}

// A token such as ".\n" would make two lines of a field.
TEST(Stages, KeepAFieldToOneLine) {
  const auto trie =
      grammar::TokenTrie::build({{"a", 0}, {"\n", 1}, {".\n", 2}, {"\n\n", 3}, {"b", 4}}, 6, {5});
  ASSERT_TRUE(trie.ok()) << trie.status().message();
  StageManifest manifest;
  manifest.newline = 1;
  manifest.end_ids = {5};
  manifest.stages = {{.kind = Stage::Kind::kField, .max_tokens = 9}};
  const auto made = StageConstraint::create(manifest, 6, trie->get());
  ASSERT_TRUE(made.ok()) << made.status().message();
  const auto mask = made->mask();
  ASSERT_TRUE(mask.ok());
  for (std::int32_t id = 0; id < 6; ++id)
    EXPECT_EQ((*mask)->allows(id), id == 0 || id == 1 || id == 4) << id;
  manifest.end_ids = {0, 4, 5};
  const Status refused = StageConstraint::create(manifest, 6, trie->get()).status();
  EXPECT_EQ(refused.code(), Code::kUnsupported);
  EXPECT_EQ(refused.message(),
            "[stages] expected a token that a field may contain, got none: every token of the "
            "vocabulary contains the newline or ends the text");
}

TEST(Stages, AreAllOfAnAnswerOfAChat) {
  const ScriptedModel scripted;
  AnswerForm form;
  form.format = stages(kPlan);
  EXPECT_TRUE(scripted.model()->constraints().make(form).ok());
  form.calls = AnswerForm::Calls::kAllowed;
  EXPECT_EQ(scripted.model()->constraints().make(form).status().message(),
            "[tools] expected none beside stages, which are all of an answer, got some");
}

TEST(Stages, TheirCountsAreReadAsTheyAreWritten) {
  StageCounts counts;
  counts.name = "plan";
  counts.forced_tokens = 1;
  counts.field_content_tokens = 2;
  counts.field_newline_tokens = 3;
  counts.open_tokens = 4;
  counts.fields_completed = 5;
  counts.active_stage = 6;
  counts.field_token_counts = {7, 8};
  const Json json = stage_counts_json(counts);
  EXPECT_EQ(dump_json(json),
            R"({"name":"plan","forced_tokens":1,"field_content_tokens":2,"field_newline_tokens":3,)"
            R"("open_tokens":4,"fields_completed":5,"active_stage":6,"field_token_counts":[7,8]})");
  const auto read = parse_stage_counts(json);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(stage_counts_json(*read), json);
  for (const char* text : {"1", "{}", R"({"forced_tokens": "x"})"})
    EXPECT_EQ(parse_stage_counts(*parse_json(text, "counts")).status().code(), Code::kParseError);
}

}  // namespace
}  // namespace anemone::engine
