// SPDX-License-Identifier: Apache-2.0
// Prompts that are longer than the context, and what a request says about them.
#include <gtest/gtest.h>

#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using testing::Answer;
using testing::expect_api_error;
using testing::fetch;
using testing::json_of;
using testing::kTestContext;
using testing::letters;
using testing::post_text;
using testing::TestServer;

class Truncated : public ::testing::Test {
 protected:
  Answer post(const char* path, const Json& body) {
    return fetch(server_.port(), post_text(path, dump_json(body)));
  }
  Json post_json(const char* path, const Json& body) {
    const Answer answer = post(path, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json_of(answer.body);
  }

  TestServer server_;
};

// Each turn is "user:" + 40 letters + "\nassistant:" + 40 letters + "\n".
constexpr std::int64_t kTurn = 5 + 40 + 1 + 10 + 40 + 1;
constexpr std::int64_t kSystem = 7 + 2 + 1;  // "system:be\n"

Json chat(int turns) {
  Json messages = Json::array({{{"role", "system"}, {"content", "be"}}});
  for (int i = 0; i < turns; ++i) {
    messages.push_back({{"role", "user"}, {"content", std::string(40, 'u')}});
    messages.push_back({{"role", "assistant"}, {"content", std::string(40, 'a')}});
  }
  messages.push_back({{"role", "user"}, {"content", "end"}});
  return messages;
}
constexpr std::int64_t kLast = 5 + 3 + 1;  // "user:end\n"

TEST_F(Truncated, PromptsAreRefusedUnlessTheRequestSaysOtherwise) {
  for (const Json& more : {Json::object(), Json{{"truncation", "error"}}}) {
    Json body = {{"messages", chat(10)}};
    body.update(more);
    expect_api_error(post("/v1/chat/completions", body), 400, "messages",
                     "context_length_exceeded");
  }
  expect_api_error(post("/v1/completions", {{"prompt", "x"}, {"truncation", "some"}}), 400,
                   "truncation");
  expect_api_error(post("/v1/completions", {{"prompt", "x"}, {"truncation", "drop_oldest"}}), 400,
                   "truncation");
}

TEST_F(Truncated, ChatsLoseTheirOldestTurnsAndKeepTheSystemMessage) {
  // A hundred tokens stay free for the answer.
  const auto ask = [&](int turns) {
    return post_json(
        "/v1/chat/completions",
        {{"messages", chat(turns)}, {"truncation", "drop_oldest"}, {"max_tokens", 100}})["usage"];
  };
  const std::int64_t fitting = (kTestContext - 100 - kSystem - kLast) / kTurn;
  for (const int turns : {0, 1, 2, 3, 4, 7, 20}) {
    const std::int64_t kept = std::min<std::int64_t>(turns, fitting);
    const Json usage = ask(turns);
    EXPECT_EQ(usage["prompt_tokens"], kSystem + kept * kTurn + kLast) << turns;
    EXPECT_EQ(usage["completion_tokens"], 100);
    EXPECT_EQ(usage.value("truncated_tokens", std::int64_t{0}), (turns - kept) * kTurn) << turns;
  }
  // The last turn alone is longer than the context.
  expect_api_error(
      post("/v1/chat/completions",
           {{"messages", Json::array({{{"role", "user"}, {"content", "a"}},
                                      {{"role", "assistant"}, {"content", "b"}},
                                      {{"role", "user"}, {"content", std::string(500, 'x')}}})},
            {"truncation", "drop_oldest"}}),
      400, "messages", "context_length_exceeded");
}

TEST_F(Truncated, TextsLoseTheirFirstTokens) {
  const std::string text(kTestContext + 50, 'x');
  const Json answer = post_json("/v1/completions",
                                {{"prompt", text}, {"truncation", "sliding"}, {"max_tokens", 10}});
  EXPECT_EQ(answer["usage"]["prompt_tokens"], kTestContext - 10);
  EXPECT_EQ(answer["usage"]["truncated_tokens"], 60);
  EXPECT_EQ(answer["choices"][0]["text"], letters(kTestContext - 10, 10));
  const Json fits = post_json("/v1/completions",
                              {{"prompt", "abc"}, {"truncation", "sliding"}, {"max_tokens", 10}});
  EXPECT_FALSE(fits["usage"].contains("truncated_tokens"));
  const Json echo = post_json(
      "/v1/completions",
      {{"prompt", "abc" + text}, {"truncation", "sliding"}, {"echo", true}, {"max_tokens", 1}});
  EXPECT_EQ(echo["choices"][0]["text"].get<std::string>().size(),
            static_cast<std::size_t>(kTestContext));
  const Json chat_answer =
      post_json("/v1/chat/completions", {{"messages", chat(10)}, {"truncation", "sliding"}});
  EXPECT_EQ(chat_answer["usage"]["prompt_tokens"], kTestContext - kTestContext / 4);
}

}  // namespace
}  // namespace anemone::serve
