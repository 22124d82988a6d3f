// SPDX-License-Identifier: Apache-2.0
// Answers in stages over both protocols.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/serve/jsonl_fixture.h"
#include "tests/serve/tool_calls_fixture.h"

namespace anemone::serve {
namespace {

const std::string kManifest = R"({"name": "plan", "stop_token_ids": [122], "stages": [
    {"kind": "literal", "text": "A="}, {"kind": "field", "max_tokens": 3},
    {"kind": "literal", "token_ids": [66, 61]},
    {"kind": "field", "min_tokens": 1, "max_tokens": 2}, {"kind": "open"}]})";

// What is told of a text that went through all of them.
Json counts_of_all(std::int64_t open_tokens) {
  return {{"name", "plan"},
          {"forced_tokens", 4},
          {"field_content_tokens", 5},
          {"field_newline_tokens", 2},
          {"open_tokens", open_tokens},
          {"fields_completed", 2},
          {"active_stage", 5},
          {"field_token_counts", {3, 2}}};
}

TEST_F(ToolCallsTest, GivesAnAnswerInStages) {
  Json body = {{"messages", kHi}};
  body["structured_outputs"]["stages"] = *parse_json(kManifest, "manifest");
  say(body, "A=one\nB=\nafter z");
  // The second field has one token at least: of equal logits the lowest id.
  const Json answer = post(body);
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(answer["choices"][0]["message"]["content"], std::string("A=one\nB=\0a\nter z", 16));
  EXPECT_EQ(answer["choices"][0]["structured_cot"], counts_of_all(5));
  body.erase("structured_outputs");
  EXPECT_FALSE(post(body)["choices"][0].contains("structured_cot"));
}

// Each choice has its own, in a stream with the reason why it ended.
TEST_F(ToolCallsTest, CountsTheTokensOfStagesInEveryChoice) {
  const Json stages = {{"stages", *parse_json(kManifest, "manifest")}};
  const Json chat = {{"messages", kHi}, {"structured_outputs", stages}, {"n", 2}};
  const Json text = {
      {"prompt", "xy"}, {"structured_outputs", stages}, {"n", 2}, {"max_tokens", 60}};
  const auto expect_counts = [&](const char* path, Json body, std::int64_t open_tokens) {
    SCOPED_TRACE(path);
    const Json answer = testing::json_of(
        testing::fetch(server_.port(), testing::post_text(path, dump_json(body))).body);
    ASSERT_EQ(answer["choices"].size(), 2U) << dump_json(answer);
    for (const Json& choice : answer["choices"])
      EXPECT_EQ(choice["structured_cot"], counts_of_all(open_tokens));
    body["stream"] = true;
    std::vector<Json> counts(2);
    const testing::Answer streamed =
        testing::fetch(server_.port(), testing::post_text(path, dump_json(body)));
    for (const std::string& event : testing::events_of(streamed.body)) {
      if (event == "[DONE]") continue;
      const Json choice = testing::json_of(event)["choices"][0];
      EXPECT_EQ(choice.contains("structured_cot"), choice["finish_reason"].is_string()) << event;
      if (choice.contains("structured_cot"))
        counts.at(choice["index"].get<std::size_t>()) = choice["structured_cot"];
    }
    EXPECT_EQ(counts, std::vector<Json>(2, counts_of_all(open_tokens)));
  };
  expect_counts("/v1/completions", text, 13);
  say({{"messages", kHi}}, "A=one\nB=kl\nand z");
  expect_counts(kChat, chat, 5);
}

TEST_F(ToolCallsTest, CountsTheTokensOfStagesForClientsOfLlamaCpp) {
  Json body = {{"prompt", "xy"}};
  body["structured_outputs"]["stages"] = *parse_json(kManifest, "manifest");
  const auto answer = [&] {
    return testing::fetch(server_.port(), testing::post_text("/completion", dump_json(body))).body;
  };
  EXPECT_EQ(testing::json_of(answer())["structured_cot"], counts_of_all(13));
  body["stream"] = true;
  const auto events = testing::events_of(answer());
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(testing::json_of(events.back())["structured_cot"], counts_of_all(13));
}

// Stages describe the whole answer, so no part of it could be a tool call.
TEST_F(ToolCallsTest, StagesTakeNoTools) {
  Json body = {{"messages", kHi}, {"tools", kTools}, {"max_tokens", 40}};
  body["structured_outputs"]["stages"] = *parse_json(kManifest, "manifest");
  expect_refused(body, "tools");
  body["tool_choice"] = "none";
  EXPECT_TRUE(message(body)["content"].get<std::string>().starts_with("A="));
}

TEST_F(ToolCallsTest, NamesThePlaceInAManifestThatIsWrong) {
  Json body = {{"messages", kHi}};
  const auto expect_place = [&](const char* manifest, const char* param) {
    body["structured_outputs"]["stages"] = *parse_json(manifest, "manifest");
    expect_refused(body, param);
  };
  expect_place("[]", "structured_outputs.stages");
  expect_place(R"({"stages": [{"kind": "loop"}]})", "structured_outputs.stages#/stages/0");
  expect_place(R"({"stages": [{"kind": "literal", "token_ids": [258]}]})",
               "structured_outputs.stages#/stages/0/token_ids/0");
  body["structured_outputs"]["regex"] = "a";
  expect_refused(body, "structured_outputs.stages");
}

}  // namespace

namespace jsonl {
namespace {

TEST_F(JsonlTest, CountsTheTokensOfAnAnswerInStages) {
  const std::string manifest = dump_json(*parse_json(kManifest, "manifest"));
  for (const std::string& field :
       {fmt::format(R"("structured_cot": {})", manifest),
        fmt::format(R"("structured_outputs": {{"stages": {}}})", manifest)}) {
    const Json out = answer(fmt::format(R"({{"prompt": "xy", {}}})", field));
    EXPECT_EQ(out["text"], "A=efg\nB=kl\nnopqrstuvwxyz") << out;
    EXPECT_EQ(out["finish_reason"], "stop");
    EXPECT_EQ(out["structured_cot"], counts_of_all(13));
  }
  EXPECT_FALSE(answer(R"({"prompt": "xy", "max_new": 2})").contains("structured_cot"));
}

TEST_F(JsonlTest, RefusesStagesThatCannotBeFollowed) {
  const auto error = [&](std::string_view fields) {
    return answer(fmt::format(R"({{"prompt": "xy", {}}})", fields))["error"].get<std::string>();
  };
  EXPECT_EQ(error(R"("structured_cot": true)"), "[structured_cot] expected an object, got boolean");
  EXPECT_EQ(error(R"("structured_cot": {"stages": []})"),
            "[structured_cot#/stages] expected 1 to 1024 stages, got 0");
  EXPECT_EQ(error(R"("structured_cot": {"stages": [{"kind": "open"}]}, "json_schema": true)"),
            "[structured_cot] expected one form of the answer, got two");
}

}  // namespace
}  // namespace jsonl
}  // namespace anemone::serve
