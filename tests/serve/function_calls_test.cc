// SPDX-License-Identifier: Apache-2.0
// "functions" and "function_call", which were at OpenAI before "tools", over HTTP.
#include <gtest/gtest.h>
#include <string>

#include "tests/serve/tool_calls_fixture.h"

namespace anemone::serve {
namespace {

using testing::Answer;
using testing::fetch;
using testing::json_of;
using testing::post_text;
using testing::TestServer;

class FunctionCallsTest : public ToolCallsTest {
 protected:
  FunctionCallsTest() {
    functions_["functions"] = Json::array({kTools[0]["function"], kTools[1]["function"]});
  }
  Json functions_ = {{"messages", kHi}};
};

TEST_F(FunctionCallsTest, AreTheFunctionCallOfTheMessage) {
  // The prompt is that of the same tools.
  asked_["max_tokens"] = functions_["max_tokens"] = 1;
  EXPECT_EQ(post(functions_)["usage"]["prompt_tokens"], post(asked_)["usage"]["prompt_tokens"]);
  functions_.erase("max_tokens");
  say(functions_, std::string(kParisCall) + "\n" + kNowCall);
  const Json choice = post(functions_)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "function_call");
  const Json& message = choice["message"];
  EXPECT_TRUE(message["content"].is_null());
  EXPECT_FALSE(message.contains("tool_calls"));
  EXPECT_EQ(message["function_call"],
            (Json{{"name", "weather"}, {"arguments", R"({"city": "Paris"})"}}))
      << "the first call alone";
  say(functions_, "No.");
  const Json text = post(functions_)["choices"][0];
  EXPECT_EQ(text["finish_reason"], "stop");
  EXPECT_EQ(text["message"]["content"], "No.");
  EXPECT_FALSE(text["message"].contains("function_call"));
}

TEST_F(FunctionCallsTest, AreStreamedPieceByPiece) {
  say(functions_, std::string("I look. ") + kParisCall);
  const auto [deltas, finish] = stream(functions_);
  EXPECT_EQ(finish, "function_call");
  std::string content, name, arguments;
  std::size_t pieces = 0;
  for (const Json& delta : deltas) {
    EXPECT_FALSE(delta.contains("tool_calls"));
    if (delta.contains("content")) content += delta["content"].get<std::string>();
    if (!delta.contains("function_call")) continue;
    const Json& piece = delta["function_call"];
    EXPECT_EQ(piece.contains("name"), pieces == 0);
    if (pieces++ == 0) name = piece["name"];
    arguments += piece["arguments"].get<std::string>();
  }
  EXPECT_EQ(content, "I look.");
  EXPECT_EQ(name, "weather");
  EXPECT_EQ(arguments, R"({"city": "Paris"})");
  EXPECT_GT(pieces, 10U) << "arguments go out while they are made";
}

TEST_F(FunctionCallsTest, AreForcedOrLeftOut) {
  functions_["function_call"] = {{"name", "now"}};
  say(functions_, "<tool_call>\n{");
  const Json choice = post(functions_)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "function_call");
  EXPECT_EQ(choice["message"]["function_call"]["name"], "now");
  functions_["function_call"] = "none";
  say(functions_, kNowCall);
  EXPECT_EQ(message(functions_)["content"], kNowCall);
  functions_["function_call"] = "auto";
  say(functions_, kNowCall);
  EXPECT_EQ(message(functions_)["function_call"]["name"], "now");
}

TEST_F(FunctionCallsTest, AreAnsweredInAnotherTurn) {
  functions_["messages"].push_back(
      {{"role", "assistant"},
       {"content", nullptr},
       {"tool_calls", nullptr},
       {"function_call", {{"name", "weather"}, {"arguments", R"({"city": "Paris"})"}}}});
  functions_["messages"].push_back({{"role", "function"}, {"name", "weather"}, {"content", "sun"}});
  functions_["max_tokens"] = 1;
  // "user:hi", "assistant:weatherParis", "tool:sun" and "T\n": as with tools.
  EXPECT_EQ(post(functions_)["usage"]["prompt_tokens"], 7 + 22 + 8 + 2);
}

TEST(FunctionMessages, NameTheCallThatTheyAnswer) {
  engine::testing::ScriptOptions options;
  options.chat_template =
      "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.id }}{% endfor %}"
      "{% if m.role == 'tool' %}={{ m.tool_call_id }}{% endif %}{% endfor %}";
  TestServer server({}, options);
  const Json messages = *parse_json(R"([{"role": "user", "content": "hi"},
      {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
      {"role": "function", "name": "f", "content": "1"},
      {"role": "assistant", "content": "", "function_call": {"name": "g", "arguments": "{}"}},
      {"role": "function", "name": "g", "content": null}])",
                                    "messages");
  const Answer answer =
      fetch(server.port(), post_text("/apply-template", dump_json(Json{{"messages", messages}})));
  EXPECT_EQ(json_of(answer.body)["prompt"], "call00001=call00001call00003=call00003")
      << answer.body;
}

TEST_F(FunctionCallsTest, AreRefusedWhereTheyAreWrong) {
  const auto with = [&](const char* key, Json value) {
    Json body = functions_;
    body[key] = std::move(value);
    return body;
  };
  expect_refused(with("tools", kTools), "tools");
  expect_refused(with("tool_choice", "auto"), "tool_choice");
  expect_refused({{"messages", kHi}, {"tools", kTools}, {"function_call", "auto"}}, "tools");
  expect_refused({{"messages", kHi}, {"function_call", {{"name", "now"}}}}, "function_call");
  expect_refused(with("function_call", "required"), "function_call");
  expect_refused(with("function_call", {{"name", "other"}}), "function_call");
  expect_refused(with("function_call", {{"name", 5}}), "function_call");
  expect_refused(with("functions", 5), "functions");
  expect_refused(with("functions", Json::array({5})), "functions[0]");
  expect_refused(with("functions", Json::array({{{"name", "a b"}}})), "functions[0].name");
  expect_refused(with("functions", Json::array({{{"name", "f"}}, {{"name", "f"}}})),
                 "functions[1].name");
  expect_refused(with("functions", Json::array({{{"name", "f"}, {"parameters", 5}}})),
                 "functions[0].parameters");
  const auto after_hi = [&](const Json& message) {
    return with("messages", Json::array({kHi[0], message}));
  };
  expect_refused(after_hi({{"role", "function"}, {"content", "x"}}), "messages[1].name");
  expect_refused(after_hi({{"role", "assistant"}, {"function_call", 5}}),
                 "messages[1].function_call");
  expect_refused(after_hi({{"role", "assistant"},
                           {"function_call", {{"name", "f"}, {"arguments", "{}"}}},
                           {"tool_calls", Json::array()}}),
                 "messages[1].function_call");
}

}  // namespace
}  // namespace anemone::serve
