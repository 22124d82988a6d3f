// SPDX-License-Identifier: Apache-2.0
// What the manifest of an answer in stages may say of a model.
#include "engine/constraint/stage_manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/scripted_model.h"

namespace anemone::engine {
namespace {

using testing::bytes_of;
using testing::kImEnd;
using testing::ScriptedModel;

constexpr std::int32_t kVocab = static_cast<std::int32_t>(testing::kTextVocab);

class StageManifestReader : public ::testing::Test {
 protected:
  Result<StageManifest> parse(std::string_view json, std::string_view subject = "stages") const {
    return parse_stage_manifest(json, {scripted_.model()->tokenizer().get(), kVocab, {kImEnd}},
                                subject);
  }
  static Result<StageManifest> parse_without_tokenizer(std::string_view json) {
    return parse_stage_manifest(json, {nullptr, 50, {7}}, "stages");
  }

  const ScriptedModel scripted_;
};

TEST_F(StageManifestReader, ReadsStagesOfEveryKind) {
  const auto manifest = parse(R"({"name": "plan", "newline_token_id": 59, "stop_token_ids": [33],
      "stages": [{"kind": "literal", "token_ids": [71, 61]}, {"kind": "literal", "text": "I="},
                 {"kind": "field", "min_tokens": 2, "max_tokens": 5}, {"kind": "field"},
                 {"kind": "open"}]})");
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->name, "plan");
  EXPECT_EQ(manifest->newline, 59);
  EXPECT_EQ(manifest->end_ids, (std::vector<std::int32_t>{33, kImEnd}));
  ASSERT_EQ(manifest->stages.size(), 5u);
  EXPECT_EQ(manifest->stages[0].ids, (std::vector<std::int32_t>{71, 61}));
  EXPECT_EQ(manifest->stages[1].ids, bytes_of("I="));
  EXPECT_EQ(manifest->stages[2].min_tokens, 2);
  EXPECT_EQ(manifest->stages[2].max_tokens, 5);
  EXPECT_EQ(manifest->stages[3].min_tokens, 0);
  EXPECT_EQ(manifest->stages[3].max_tokens, 24);
  EXPECT_EQ(manifest->stages[4].kind, Stage::Kind::kOpen);
}

TEST_F(StageManifestReader, TakesTheNewlineAndTheEndsOfTheModel) {
  const auto field = parse(R"({"stages": [{"kind": "field"}]})");
  ASSERT_TRUE(field.ok()) << field.status().message();
  EXPECT_EQ(field->newline, '\n');
  EXPECT_EQ(field->end_ids, std::vector<std::int32_t>{kImEnd});
  const auto literal = parse(R"({"stages": [{"kind": "literal", "text": "a<|im_end|>"}]})");
  ASSERT_TRUE(literal.ok()) << literal.status().message();
  EXPECT_EQ(literal->stages[0].ids, (std::vector<std::int32_t>{'a', kImEnd}));
  EXPECT_FALSE(literal->newline.has_value()) << "no field needs one";
}

TEST_F(StageManifestReader, NeedsIdsWithoutATokenizer) {
  const auto ids = parse_without_tokenizer(R"({"newline_token_id": 3,
      "stages": [{"kind": "literal", "token_ids": [1]}, {"kind": "field"}]})");
  ASSERT_TRUE(ids.ok()) << ids.status().message();
  const auto text = parse_without_tokenizer(R"({"stages": [{"kind": "literal", "text": "a"}]})");
  EXPECT_EQ(text.status().code(), Code::kUnsupported);
  EXPECT_EQ(text.status().message(),
            "[stages#/stages/0/text] expected token_ids for a model without a tokenizer, got a "
            "text");
  const auto newline = parse_without_tokenizer(R"({"stages": [{"kind": "field"}]})");
  EXPECT_EQ(newline.status().message(),
            "[stages#/newline_token_id] expected a token id, got none: the model has no token of "
            "its own for a newline");
}

TEST_F(StageManifestReader, NamesThePlaceOfWhatIsWrong) {
  const auto of_stage = [](std::string_view stage) {
    return fmt::format(R"({{"stages": [{{"kind": "literal", "text": "a"}}, {}]}})", stage);
  };
  const std::vector<std::pair<std::string, std::string_view>> cases = {
      {"[1]", "[f] expected an object, got array"},
      {"{}", "[f#/stages] expected a list of stages, got none"},
      {R"({"stages": {}})", "[f#/stages] expected a list of stages, got object"},
      {R"({"stages": []})", "[f#/stages] expected 1 to 1024 stages, got 0"},
      {R"({"stages": [1]})", "[f#/stages/0] expected an object, got number"},
      {R"({"stages": [{"kind": "open"}], "step": 1})",
       R"([f] expected the members name, newline_token_id, stop_token_ids, stages, got "step")"},
      {R"({"stages": [{"kind": "open"}], "name": 1})",
       "[f] expected name to be a string, got number"},
      {R"({"stages": [{"kind": "open"}], "name": ")" + std::string(201, 'n') + "\"}",
       "[f#/name] expected a name of at most 200 bytes, got 201"},
      {R"({"stages": [{"kind": "open"}], "newline_token_id": "n"})",
       R"([f#/newline_token_id] expected a token id, got "n")"},
      {R"({"stages": [{"kind": "open"}], "newline_token_id": 258})",
       "[f#/newline_token_id] expected a token id of 0 to 257, got 258"},
      {R"({"stages": [{"kind": "open"}], "newline_token_id": 257})",
       "[f#/newline_token_id] expected a token that does not end the text, got 257"},
      {R"({"stages": [{"kind": "open"}], "stop_token_ids": 5})",
       "[f#/stop_token_ids] expected a list of token ids, got number"},
      {R"({"stages": [{"kind": "open"}], "stop_token_ids": [5, -1]})",
       "[f#/stop_token_ids/1] expected a token id of 0 to 257, got -1"},
      {R"({"stages": [{"kind": "field"}], "stop_token_ids": [10]})",
       "[f#/newline_token_id] expected a token that does not end the text, got 10"},
      {of_stage("{}"), R"([f#/stages/1] expected the kind "literal", "field" or "open", got none)"},
      {of_stage(R"({"kind": "loop"})"),
       R"([f#/stages/1] expected the kind "literal", "field" or "open", got "loop")"},
      {of_stage(R"({"kind": "open", "max_tokens": 5})"),
       R"([f#/stages/1] expected the members kind, got "max_tokens")"},
      {of_stage(R"({"kind": "literal"})"),
       "[f#/stages/1] expected either token_ids or text, got neither"},
      {of_stage(R"({"kind": "literal", "text": "a", "token_ids": [1]})"),
       "[f#/stages/1] expected either token_ids or text, got both"},
      {of_stage(R"({"kind": "literal", "text": 5})"),
       "[f#/stages/1] expected text to be a string, got number"},
      {of_stage(R"({"kind": "literal", "text": ""})"),
       "[f#/stages/1] expected a literal of at least 1 token, got none"},
      {of_stage(R"({"kind": "literal", "token_ids": []})"),
       "[f#/stages/1] expected a literal of at least 1 token, got none"},
      {of_stage(R"({"kind": "literal", "token_ids": [1, 2.5]})"),
       "[f#/stages/1/token_ids/1] expected a token id, got 2.5"},
      {of_stage(R"({"kind": "literal", "token_ids": [18446744073709551615]})"),
       "[f#/stages/1/token_ids/0] expected a token id of 0 to 257, got 18446744073709551615"},
      {of_stage(R"({"kind": "literal", "token_ids": [257, 1]})"),
       "[f#/stages/1] expected no token that ends the text before the end of the last stage, got "
       "257"},
      {R"({"stages": [{"kind": "literal", "text": "<|im_end|>"}, {"kind": "open"}]})",
       "[f#/stages/0] expected no token that ends the text before the end of the last stage, got "
       "257"},
      {of_stage(R"({"kind": "field", "text": "a"})"),
       R"([f#/stages/1] expected the members kind, min_tokens, max_tokens, got "text")"},
      {of_stage(R"({"kind": "field", "max_tokens": 0})"),
       "[f#/stages/1] expected max_tokens of 1 to 65536, got 0"},
      {of_stage(R"({"kind": "field", "max_tokens": 65537})"),
       "[f#/stages/1] expected max_tokens of 1 to 65536, got 65537"},
      {of_stage(R"({"kind": "field", "min_tokens": 25})"),
       "[f#/stages/1] expected min_tokens of 0 to max_tokens (24), got 25"},
      {of_stage(R"({"kind": "field", "min_tokens": -1})"),
       "[f#/stages/1] expected min_tokens of 0 to max_tokens (24), got -1"},
      {of_stage(R"({"kind": "field", "max_tokens": "many"})"),
       "[f#/stages/1] expected max_tokens to be an integer, got string"},
      {R"({"stages": [{"kind": "open"}, {"kind": "field"}]})",
       "[f#/stages/0] expected no stage after an open one, which ends with the text, got another"},
  };
  for (const auto& [json, message] : cases) {
    const auto manifest = parse(json, "f");
    ASSERT_FALSE(manifest.ok()) << json;
    EXPECT_EQ(manifest.status().message(), message) << json;
  }
  EXPECT_EQ(parse("{").status().code(), Code::kParseError);
}

TEST_F(StageManifestReader, LimitsHowMuchAManifestHolds) {
  const auto repeated = [](std::size_t count, std::string_view item) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + std::string(item);
    return out;
  };
  const auto stages = [&](std::size_t count, std::string_view stage) {
    return fmt::format(R"({{"stages": [{}]}})", repeated(count, stage));
  };
  EXPECT_TRUE(parse(stages(1'024, R"({"kind":"field"})")).ok());
  EXPECT_FALSE(parse(stages(1'025, R"({"kind":"field"})")).ok());
  const std::string half =
      fmt::format(R"({{"kind":"literal","token_ids":[{}]}})", repeated(32'768, "5"));
  EXPECT_TRUE(parse(stages(2, half)).ok());
  EXPECT_EQ(parse(stages(3, half)).status().message(),
            "[stages#/stages/2] expected literals of at most 65536 tokens in all, got more");
  const auto stops = [&](std::size_t count) {
    return fmt::format(R"({{"stages":[{{"kind":"open"}}],"stop_token_ids":[{}]}})",
                       repeated(count, "5"));
  };
  EXPECT_TRUE(parse(stops(64)).ok());
  EXPECT_FALSE(parse(stops(65)).ok());
  EXPECT_FALSE(
      parse(stages(1, R"({"kind":"literal","text":")" + std::string(300'000, 'a') + "\"}")).ok());
}

}  // namespace
}  // namespace anemone::engine
