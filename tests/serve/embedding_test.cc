// SPDX-License-Identifier: Apache-2.0
// POST /v1/embeddings over a model whose hidden state after n tokens is {n, 1}.
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

#include "serve/openai/embedding_answer.h"
#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using testing::Answer;
using testing::expect_api_error;
using testing::fetch;
using testing::json_of;
using testing::post_text;
using testing::TestServer;

constexpr const char* kPath = "/v1/embeddings";

engine::testing::ScriptOptions script() {
  engine::testing::ScriptOptions out;
  out.gives_hidden = true;
  return out;
}

// {n, 1} of length 1.
std::vector<double> unit(double n) {
  const double length = std::sqrt(n * n + 1);
  return {n / length, 1 / length};
}

void expect_near(const Json& embedding, const std::vector<double>& expected) {
  ASSERT_EQ(embedding.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(embedding[i].get<double>(), expected[i], 1e-6);
}

class Embeddings : public ::testing::Test {
 protected:
  Answer ask(const Json& body) { return fetch(server_.port(), post_text(kPath, dump_json(body))); }
  Json ask_well(const Json& body) {
    const Answer answer = ask(body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json_of(answer.body);
  }

  TestServer server_{{}, script()};
};

TEST_F(Embeddings, AreOfTheLastTokenUnlessAskedForTheMean) {
  const Json answer = ask_well({{"model", "tiny"}, {"input", "abc"}});
  EXPECT_EQ(answer["object"], "list");
  EXPECT_EQ(answer["model"], "tiny");
  ASSERT_EQ(answer["data"].size(), 1U);
  EXPECT_EQ(answer["data"][0]["object"], "embedding");
  EXPECT_EQ(answer["data"][0]["index"], 0);
  expect_near(answer["data"][0]["embedding"], unit(3));
  EXPECT_EQ(answer["usage"], Json({{"prompt_tokens", 3}, {"total_tokens", 3}}));
  expect_near(ask_well({{"input", "abc"}, {"pooling", "mean"}})["data"][0]["embedding"], unit(2));
}

TEST_F(Embeddings, TakeTextsAndIdsAndListsOfThem) {
  expect_near(ask_well({{"input", {7, 8}}})["data"][0]["embedding"], unit(2));
  const Json lists = ask_well({{"input", Json::array({{1}, {1, 2}})}});
  expect_near(lists["data"][0]["embedding"], unit(1));
  expect_near(lists["data"][1]["embedding"], unit(2));
  // More texts than go into one step, some of more tokens than one.
  Json input = Json::array();
  for (std::size_t i = 0; i < 40; ++i) input.push_back(std::string(10 * i + 1, 'x'));
  const Json many = ask_well({{"input", input}});
  ASSERT_EQ(many["data"].size(), 40U);
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(many["data"][i]["index"], i);
    expect_near(many["data"][i]["embedding"], unit(static_cast<double>(10 * i + 1)));
  }
}

TEST_F(Embeddings, ComeAsBase64OrShortened) {
  const Json text = ask_well({{"input", "abc"}, {"encoding_format", "base64"}});
  const auto expected = unit(3);
  const std::vector<float> values = {static_cast<float>(expected[0]),
                                     static_cast<float>(expected[1])};
  EXPECT_EQ(text["data"][0]["embedding"], openai::base64_of(values));
  expect_near(ask_well({{"input", "abc"}, {"dimensions", 1}})["data"][0]["embedding"], {1});
  expect_near(ask_well({{"input", "abc"}, {"dimensions", 2}})["data"][0]["embedding"], unit(3));
}

TEST_F(Embeddings, AreRefusedWithTheField) {
  expect_api_error(ask({{"model", "tiny"}}), 400, "input");
  expect_api_error(ask({{"input", ""}}), 400, "input");
  expect_api_error(ask({{"input", Json::array()}}), 400, "input");
  expect_api_error(ask({{"input", Json::array({"x", 1})}}), 400, "input");
  expect_api_error(ask({{"input", Json::array({"x", ""})}}), 400, "input");
  expect_api_error(ask({{"input", {264}}}), 400, "input");
  expect_api_error(ask({{"input", Json(std::vector<std::string>(2049, "x"))}}), 400, "input");
  expect_api_error(ask({{"input", std::string(testing::kTestContext + 1, 'x')}}), 400, "input",
                   "context_length_exceeded");
  expect_api_error(ask({{"input", "x"}, {"dimensions", 0}}), 400, "dimensions");
  expect_api_error(ask({{"input", "x"}, {"dimensions", 3}}), 400, "dimensions");
  expect_api_error(ask({{"input", "x"}, {"encoding_format", "hex"}}), 400, "encoding_format");
  expect_api_error(ask({{"input", "x"}, {"pooling", "max"}}), 400, "pooling");
  expect_api_error(ask({{"input", "x"}, {"pooling", "cls"}}), 400, "pooling", "unsupported_value");
  EXPECT_EQ(server_.server().counts().finished, 0U) << "none of them reached the model";
}

TEST_F(Embeddings, EndWhenTheClientLeaves) {
  server_.gate().close();
  {
    testing::HttpClient client(server_.port());
    ASSERT_TRUE(client.send(
        post_text(kPath, dump_json({{"input", Json(std::vector<std::string>(100, "xyz"))}}))));
    ASSERT_TRUE(server_.gate().wait_for_waiting(1));
    client.reset();
  }
  EXPECT_TRUE(server_.wait_for_counts([](const auto& counts) { return counts.cancelling == 1; }));
  server_.gate().open();
  EXPECT_TRUE(server_.wait_for_counts([](const auto& counts) { return counts.cancelled == 1; }));
}

// A short text does not wait until all texts of a long request have been read.
TEST_F(Embeddings, AreMadeBesideOtherRequests) {
  server_.gate().close();
  testing::HttpClient many(server_.port());
  ASSERT_TRUE(many.send(post_text(
      kPath, dump_json({{"input", Json(std::vector<std::string>(20, std::string(200, 'x')))}}))));
  ASSERT_TRUE(server_.gate().wait_for_waiting(1));
  testing::HttpClient one(server_.port());
  ASSERT_TRUE(one.send(post_text(kPath, R"({"input": "x"})")));
  EXPECT_TRUE(server_.wait_for_counts([](const auto& counts) { return counts.waiting == 1; }));
  server_.gate().open();
  EXPECT_EQ(one.receive().status, 200);
  EXPECT_EQ(many.receive().status, 200);
}

TEST(EmbeddingsOfAModelWithout, AreRefusedWithTheOptionThatCompilesThem) {
  TestServer server;
  const Answer answer = fetch(server.port(), post_text(kPath, R"({"input": "x"})"));
  expect_api_error(answer, 400, "model");
  EXPECT_NE(answer.body.find("--form portable"), std::string::npos) << answer.body;
}

TEST(Base64, IsThatOfRfc4648) {
  const auto float_of = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  EXPECT_EQ(openai::base64_of({}), "");
  // The bytes 00 00 80 3f, and then 01 02 03 04 05 06 07 08 09 0a 0b 0c.
  EXPECT_EQ(openai::base64_of(std::vector<float>{1.0F}), "AACAPw==");
  EXPECT_EQ(openai::base64_of(std::vector<float>{float_of(0x04030201), float_of(0x08070605)}),
            "AQIDBAUGBwg=");
  EXPECT_EQ(openai::base64_of(std::vector<float>{float_of(0x04030201), float_of(0x08070605),
                                                 float_of(0x0c0b0a09)}),
            "AQIDBAUGBwgJCgsM");
}

}  // namespace
}  // namespace anemone::serve
