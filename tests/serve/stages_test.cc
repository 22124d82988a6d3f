// SPDX-License-Identifier: Apache-2.0
// Answers in stages over both protocols.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/serve/jsonl_fixture.h"
#include "tests/serve/tool_calls_fixture.h"

namespace anemone::serve {
namespace {

const std::string kManifest = R"({"name": "plan", "stop_token_ids": [122], "stages": [
    {"kind": "literal", "text": "A="}, {"kind": "field", "max_tokens": 3},
    {"kind": "literal", "token_ids": [66, 61]},
    {"kind": "field", "min_tokens": 1, "max_tokens": 2}, {"kind": "open"}]})";

TEST_F(ToolCallsTest, GivesAnAnswerInStages) {
  Json body = {{"messages", kHi}};
  body["structured_outputs"]["stages"] = *parse_json(kManifest, "manifest");
  say(body, "A=one\nB=\nafter z");
  // The second field has one token at least: of equal logits the lowest id.
  const Json answer = post(body);
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(answer["choices"][0]["message"]["content"], std::string("A=one\nB=\0a\nter z", 16));
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
    const Json& counts = out["structured_cot"];
    EXPECT_EQ(counts["name"], "plan");
    EXPECT_EQ(counts["forced_tokens"], 4);
    EXPECT_EQ(counts["field_content_tokens"], 5);
    EXPECT_EQ(counts["field_newline_tokens"], 2);
    EXPECT_EQ(counts["open_tokens"], 13);
    EXPECT_EQ(counts["fields_completed"], 2);
    EXPECT_EQ(counts["active_stage"], 5);
    EXPECT_EQ(counts["field_token_counts"], Json::array({3, 2}));
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
