// SPDX-License-Identifier: Apache-2.0
// Requests that are made to be slow or large: each ends soon, and the server answers others
// meanwhile. The limits on time are far above what is needed and far below what these took when
// keys were looked for one by one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <thread>

#include "tests/serve/test_server.h"
#include "tests/support/sanitized.h"

namespace anemone::serve {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::expect_api_error;
using testing::fetch;
using testing::get_text;
using testing::post_text;
using testing::TestServer;

constexpr auto kSoon = 20s;
constexpr const char* kChatPath = "/v1/chat/completions";
constexpr const char* kGreeting =
    R"("messages": [{"role": "user", "content": "hi"}], "max_tokens": 1)";

std::string object_of(int keys, const char* value = "1") {
  std::string out = "{";
  for (int i = 0; i < keys; ++i) out += fmt::format("{}\"k{}\":{}", i == 0 ? "" : ",", i, value);
  return out + "}";
}

// The answer, which must come soon, and during which the server must say that it is well.
Answer attack(TestServer& server, const std::string& path, const std::string& body) {
  const auto start = std::chrono::steady_clock::now();
  Answer answer;
  std::thread client([&] { answer = fetch(server.port(), post_text(path, body)); });
  EXPECT_EQ(fetch(server.port(), get_text("/health")).status, 200);
  client.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
  return answer;
}

TEST(HostileRequest, MayBringManyTemplateVariables) {
  TestServer server;
  const Answer answer =
      attack(server, kChatPath,
             fmt::format(R"({{{}, "chat_template_kwargs": {}}})", kGreeting, object_of(300'000)));
  // The budget may be used up where the machine is slow.
  EXPECT_TRUE(answer.status == 200 || answer.status == 400) << answer.body;
}

TEST(HostileRequest, MayBringManyMessages) {
  TestServer server;
  std::string body = R"({"messages": [)";
  for (int i = 0; i < 400'000; ++i)
    body += fmt::format(R"({}{{"role":"user","content":""}})", i == 0 ? "" : ",");
  EXPECT_EQ(attack(server, kChatPath, body + "]}").status, 400) << "more than the context";
}

TEST(HostileRequest, MayBringKeysThatAreAlike) {
  TestServer server;
  // Thousands of keys that differ in their last bytes alone, in every place where keys are looked
  // up or compared.
  std::string keys;
  for (int i = 0; i < 4'000; ++i)
    keys += fmt::format("{}\"{}{}\":0", i == 0 ? "" : ",", std::string(500, 'x'), i);
  for (const char* form : {R"({{{}, "metadata": {{{}}}}})",
                           R"({{{}, "tools": [{{"function": {{"name": "f", {}}}}}]}})",
                           R"({{{}, "chat_template_kwargs": {{{}}}}})"})
    EXPECT_EQ(attack(server, kChatPath, fmt::format(fmt::runtime(form), kGreeting, keys)).status,
              200);
}

TEST(HostileRequest, IsRefusedWithManyFields) {
  TestServer server;
  std::string body = object_of(400'000);
  body.pop_back();
  expect_api_error(attack(server, kChatPath, body + ", " + kGreeting + "}"), 400);
  expect_api_error(attack(server, "/v1/completions", body + R"(, "prompt": "x"})"), 400);
}

TEST(HostileRequest, IsRefusedWithManyBiases) {
  TestServer server;
  std::string biases;
  // Reading more uses up the budget of CPU time under sanitizers, which is refused for that.
  const int count = anemone::testing::kIsSanitized ? 30'000 : 300'000;
  for (int i = 0; i < count; ++i) biases += fmt::format("{}\"{}\":1", i == 0 ? "" : ",", i);
  expect_api_error(
      attack(server, kChatPath, fmt::format(R"({{{}, "logit_bias": {{{}}}}})", kGreeting, biases)),
      400, "logit_bias");
  // One token under many names.
  expect_api_error(
      attack(server, kChatPath, fmt::format(R"({{{}, "logit_bias": {{"007": 1}}}})", kGreeting)),
      400, "logit_bias");
}

TEST(HostileRequest, IsRefusedWithALongStop) {
  TestServer server;
  expect_api_error(
      attack(server, kChatPath,
             fmt::format(R"({{{}, "stop": ["{}"]}})", kGreeting, std::string(1025, 'x'))),
      400, "stop");
  EXPECT_EQ(attack(server, kChatPath,
                   fmt::format(R"({{{}, "stop": ["{}"]}})", kGreeting, std::string(1024, 'x')))
                .status,
            200);
}

TEST(HostileRequest, GetsAShortAnswer) {
  OpenAiServerOptions options;
  options.is_strict_model = true;
  TestServer server(options);
  const std::string big(4'000'000, 'x');
  for (const std::string& body : {fmt::format(R"({{{}, "model": "{}"}})", kGreeting, big),
                                  fmt::format(R"({{"{0}": 1, "{0}": 2}})", big),
                                  fmt::format(R"({{"model": "{}" nonsense)", big)}) {
    const Answer answer = attack(server, kChatPath, body);
    EXPECT_GE(answer.status, 400);
    EXPECT_LT(answer.body.size(), 3000U);
  }
}

TEST(HostileRequest, HasABudgetOfTimeAndMemory) {
  OpenAiServerOptions options;
  options.budget = {.cpu_time = 1ms, .bytes = std::size_t{512} << 20};
  const std::string body =
      fmt::format(R"({{{}, "chat_template_kwargs": {}}})", kGreeting, object_of(100'000));
  {
    TestServer server(options);
    const Answer answer = attack(server, kChatPath, body);
    expect_api_error(answer, 400);
    EXPECT_NE(answer.body.find("1 ms of CPU time"), std::string::npos) << answer.body;
  }
  options.budget = {.cpu_time = 1min, .bytes = 1 << 20};
  TestServer server(options);
  const Answer answer = attack(server, kChatPath, body);
  expect_api_error(answer, 400);
  EXPECT_NE(answer.body.find("1 MB of memory"), std::string::npos) << answer.body;
  EXPECT_EQ(attack(server, kChatPath, fmt::format("{{{}}}", kGreeting)).status, 200);
}

TEST(HostileRequest, ArgumentsOfCallsCountToo) {
  OpenAiServerOptions options;
  options.budget = {.cpu_time = 1min, .bytes = 1 << 20};
  TestServer server(options);
  std::string arguments = object_of(20'000);
  std::string escaped;
  for (const char c : arguments) escaped += c == '"' ? std::string("\\\"") : std::string(1, c);
  const Answer answer = attack(server, kChatPath,
                               fmt::format(R"({{"messages": [{{"role": "assistant", "tool_calls": [
        {{"function": {{"name": "f", "arguments": "{}"}}}}]}}]}})",
                                           escaped));
  expect_api_error(answer, 400);
  EXPECT_NE(answer.body.find("1 MB of memory"), std::string::npos) << answer.body;
}

}  // namespace
}  // namespace anemone::serve
