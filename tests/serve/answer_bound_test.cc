// SPDX-License-Identifier: Apache-2.0
// What all answers hold together while they are made: one that finds no room ends with an error.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using testing::Answer;
using testing::events_of;
using testing::expect_api_error;
using testing::fetch;
using testing::json_of;
using testing::post_text;
using testing::TestServer;

std::string completion(const std::string& more) {
  return post_text("/v1/completions",
                   fmt::format(R"({{"prompt": "xxxxxxxxxx", "max_tokens": 40, {}}})", more));
}

TEST(AnswerBound, EndsOneRequestAndNotTheOthers) {
  OpenAiServerOptions options;
  options.http.answers_bytes = 100'000;
  TestServer server(options);
  for (int i = 0; i < 2; ++i) {
    const Answer refused = fetch(server.port(), completion(R"("n": 4, "logprobs": 10)"));
    expect_api_error(refused, 503, nullptr, "out_of_memory");
    EXPECT_NE(refused.body.find("[answer]"), std::string::npos) << refused.body;
    const Answer small = fetch(server.port(), completion(R"("n": 4)"));
    EXPECT_EQ(small.status, 200) << small.body;
    EXPECT_EQ(json_of(small.body)["choices"].size(), 4U);
  }
  // The answer fits when it comes in pieces, each of which is sent at once.
  const Answer stream =
      fetch(server.port(), completion(R"("n": 4, "logprobs": 10, "stream": true)"));
  EXPECT_EQ(events_of(stream.body).back(), "[DONE]");
}

TEST(AnswerBound, CountsTheScoresOfThePrompt) {
  OpenAiServerOptions options;
  options.http.answers_bytes = 20'000;
  TestServer server(options);
  expect_api_error(fetch(server.port(), completion(R"("echo": true, "logprobs": 10)")), 503,
                   nullptr, "out_of_memory");
  // A stream begins when the prompt has been read.
  expect_api_error(
      fetch(server.port(), completion(R"("echo": true, "logprobs": 10, "stream": true)")), 503,
      nullptr, "out_of_memory");
  EXPECT_EQ(fetch(server.port(), completion(R"("echo": true)")).status, 200);
}

TEST(AnswerBound, CountsTheToolsOfARequest) {
  OpenAiServerOptions options;
  options.http.answers_bytes = 20'000;
  TestServer server(options);
  const auto ask = [&](int properties) {
    Json schema = {{"type", "object"}, {"properties", Json::object()}};
    for (int i = 0; i < properties; ++i)
      schema["properties"][fmt::format("p{}", i)] = {{"type", "string"}};
    return fetch(
        server.port(),
        post_text(
            "/v1/chat/completions",
            dump_json({{"messages", {{{"role", "user"}, {"content", "hi"}}}},
                       {"max_tokens", 1},
                       {"tools", {{{"function", {{"name", "f"}, {"parameters", schema}}}}}}})));
  };
  EXPECT_EQ(ask(3).status, 200);
  expect_api_error(ask(100), 503, nullptr, "out_of_memory");
  EXPECT_EQ(ask(3).status, 200);
}

TEST(AnswerBound, HasOneErrorForAnswersThatAreReady) {
  OpenAiServerOptions options;
  options.http.answers_bytes = 1'000;
  TestServer server(options);
  const auto tokenize = [&](std::size_t bytes) {
    return fetch(server.port(),
                 post_text("/tokenize", dump_json({{"content", std::string(bytes, 'x')}})));
  };
  EXPECT_EQ(tokenize(10).status, 200);
  expect_api_error(tokenize(2'000), 503, nullptr, "out_of_memory");
}

TEST(AnswerBound, CountsPromptsThatWait) {
  OpenAiServerOptions options;
  options.http.answers_bytes = 3'000;
  options.engine.queue = 8;
  TestServer server(options);
  server.gate().close();
  const std::string request =
      post_text("/v1/completions",
                fmt::format(R"({{"prompt": "{}", "max_tokens": 1}})", std::string(300, 'x')));
  testing::HttpClient one(server.port()), two(server.port());
  ASSERT_TRUE(one.send(request));
  ASSERT_TRUE(server.gate().wait_for_waiting(1));
  ASSERT_TRUE(two.send(request));
  ASSERT_TRUE(
      server.wait_for_counts([](const engine::Engine::Counts& c) { return c.waiting == 1; }));
  expect_api_error(fetch(server.port(), request), 503, nullptr, "out_of_memory");
  server.gate().open();
  EXPECT_EQ(one.receive().status, 200);
  EXPECT_EQ(two.receive().status, 200);
  EXPECT_EQ(fetch(server.port(), request).status, 200);
}

}  // namespace
}  // namespace anemone::serve
