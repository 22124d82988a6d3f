// SPDX-License-Identifier: Apache-2.0
// POST /v1/classify, and the spans that it makes of labels.
#include <gtest/gtest.h>

#include "api/executors.h"
#include "compiler/compiler.h"
#include "engine/labels/label_spans.h"
#include "engine/loop/engine.h"
#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using engine::LabelSpan;
using engine::ScoredLabel;
using testing::fetch;
using testing::json_of;
using testing::post_text;

// The spans of labels, as "label first+count".
std::vector<std::string> spans_of(const std::vector<std::string>& labels) {
  std::vector<ScoredLabel> scored;
  for (std::size_t i = 0; i < labels.size(); ++i) scored.push_back({i, 0.5});
  std::vector<std::string> out;
  for (const LabelSpan& span : engine::spans_of(scored, labels))
    out.push_back(fmt::format("{} {}+{}", span.label, span.first, span.count));
  return out;
}

TEST(LabelSpans, FollowEveryScheme) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(spans_of({"O", "B-A", "I-A", "O", "I-A"}), (Texts{"A 1+2", "A 4+1"}));
  EXPECT_EQ(spans_of({"B-A", "B-A", "I-B"}), (Texts{"A 0+1", "A 1+1", "B 2+1"}));
  EXPECT_EQ(spans_of({"S-A", "I-A", "E-A", "I-A"}), (Texts{"A 0+1", "A 1+2", "A 3+1"}));
  EXPECT_EQ(spans_of({"name", "name", "O", "a-b"}), (Texts{"name 0+2", "a-b 3+1"}));
  EXPECT_EQ(spans_of({"B-A", "I-B", "L-B", "U-B"}), (Texts{"A 0+1", "B 1+2", "B 3+1"}));
  EXPECT_EQ(spans_of({"O", "", "O"}), Texts());
}

TEST(LabelScores, AreTheSoftmaxOfTheHighestLogit) {
  const auto scored = engine::score_labels(std::vector<float>{0, 0, 1000, -5, 0, 0}, 3);
  ASSERT_EQ(scored.size(), 2U);
  EXPECT_EQ(scored[0].label, 2U);
  EXPECT_DOUBLE_EQ(scored[0].score, 1);
  EXPECT_EQ(scored[1].label, 1U) << "the first of equals";
  EXPECT_NEAR(scored[1].score, 0.5, 0.01);
}

TEST(LabelSpans, SayWhereTheyAreInCharacters) {
  const std::vector<std::string> pieces = {"", "é", " Zo", "\xc3", "\xab", " x", ""};
  const std::vector<LabelSpan> spans = {{"A", 2, 3, 0.5}, {"B", 5, 1, 0.25}, {"C", 3, 1, 1}};
  const Json json = engine::spans_json(spans, {"é Zoë x", pieces});
  EXPECT_EQ(json[0],
            Json({{"label", "A"}, {"score", 0.5}, {"start", 2}, {"end", 5}, {"text", "Zoë"}}));
  EXPECT_EQ(json[1]["start"], 6);
  EXPECT_EQ(json[1]["end"], 7);
  EXPECT_EQ(json[2]["text"], "ë") << "a part of a character is the whole";
  // A normalizer changed the text, or there is none.
  const Json other = engine::spans_json(spans, {"E ZOE X", pieces});
  EXPECT_TRUE(other[0]["start"].is_null());
  EXPECT_EQ(other[0]["text"], "Zoë");
  const std::vector<std::string> unknown(7);
  EXPECT_TRUE(engine::spans_json(spans, {"", unknown})[0]["start"].is_null());
}

TEST(LabelSpans, AreOfAtMostOneCharacterMoreWhereTheBytesAreNoText) {
  const std::vector<std::string> pieces(100, "\x80");
  const std::vector<LabelSpan> spans = {{"A", 0, 1, 1}, {"B", 50, 1, 1}, {"C", 99, 1, 1}};
  const Json json = engine::spans_json(spans, {"", pieces});
  EXPECT_EQ(json[0]["text"], "\x80\x80\x80\x80");
  EXPECT_EQ(json[1]["text"], "\x80\x80\x80\x80\x80\x80\x80");
  EXPECT_EQ(json[2]["text"], "\x80\x80\x80\x80");
  EXPECT_TRUE(json[0]["start"].is_null());
}

TEST(Classify, GivesTheLabelsThatRunGives) {
  const anemone::testing::TemporaryFolder folder;
  compiler::CompileOptions compile;
  compile.context = 32;
  const auto report = compiler::compile(
      anemone::testing::source_path("tests/compiler/data/tiny/openai_privacy_filter"),
      folder.file("artifact"), compile);
  ASSERT_TRUE(report.ok()) << report.status().message();
  auto executor = api::make_executor({.threads = 1});
  ASSERT_TRUE(executor.ok());
  auto model = engine::Model::load(folder.file("artifact"), **executor);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::vector<std::string>& names = (*model)->manifest().labels;

  OpenAiServerOptions options;
  options.http.port = 0;
  const auto server = OpenAiServer::start(testing::given_model({"filter"}, *model), options);
  ASSERT_TRUE(server.ok());
  const auto port = (*server)->port();

  const std::vector<std::vector<std::int32_t>> inputs = {{1, 2, 3, 4, 5}, {9}, {6, 5, 4}};
  const auto answer = fetch(port, post_text("/v1/classify", dump_json({{"input", inputs}})));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = json_of(answer.body);
  EXPECT_EQ(json["object"], "list");
  EXPECT_EQ(json["model"], "filter");
  EXPECT_EQ(json["usage"]["total_tokens"], 9);
  ASSERT_EQ(json["data"].size(), inputs.size());
  engine::Engine engine({});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto logits = engine::classify(engine, *model, inputs[i], {});
    ASSERT_TRUE(logits.ok());
    const Json& data = json["data"][i];
    EXPECT_EQ(data["index"], i);
    EXPECT_EQ(data["ids"], Json(inputs[i]));
    const auto scored = engine::score_labels(*logits, names.size());
    ASSERT_EQ(data["labels"].size(), scored.size());
    for (std::size_t t = 0; t < scored.size(); ++t) {
      EXPECT_EQ(data["labels"][t], names[scored[t].label]);
      EXPECT_DOUBLE_EQ(data["scores"][t].get<double>(), scored[t].score);
    }
    EXPECT_EQ(data["spans"].size(), engine::spans_of(scored, names).size());
  }

  // Each token may be a span. The first server has room for any answer.
  options.http.answers_bytes = 20'000;
  const auto narrow = OpenAiServer::start(testing::given_model({"filter"}, *model), options);
  ASSERT_TRUE(narrow.ok());
  const auto status_of = [&](std::size_t tokens) {
    const std::vector<std::int32_t> ids(tokens, 5);
    return fetch((*narrow)->port(), post_text("/v1/classify", dump_json({{"input", ids}}))).status;
  };
  EXPECT_EQ(status_of(8), 200);
  EXPECT_EQ(status_of(30), 503);
  EXPECT_EQ(status_of(8), 200);

  // What such a model cannot do, and what it does not take.
  const auto refused = [&](const char* path, const char* body, const char* param) {
    testing::expect_api_error(fetch(port, post_text(path, body)), 400, param);
  };
  refused("/v1/completions", R"({"prompt": [1]})", "model");
  refused("/v1/embeddings", R"({"input": [1]})", "model");
  const std::string embedded = fetch(port, post_text("/v1/embeddings", R"({"input": [1]})")).body;
  EXPECT_NE(embedded.find("a model that gives embeddings"), std::string::npos) << embedded;
  refused("/completion", R"({"prompt": "text"})", "model");
  refused("/v1/classify", R"({"input": "text"})", "input");
  refused("/v1/classify", R"({"input": [16000000]})", "input");
  refused("/v1/classify", R"({})", "input");
}

TEST(Classify, IsRefusedByAModelThatGeneratesText) {
  testing::TestServer server;
  testing::expect_api_error(fetch(server.port(), post_text("/v1/classify", R"({"input": "x"})")),
                            400, "model", "unsupported_value");
}

}  // namespace
}  // namespace anemone::serve
