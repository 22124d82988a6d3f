// SPDX-License-Identifier: Apache-2.0
// Tool calls and reasoning over HTTP. The syntax of the calls follows from the chat template of
// each test; say() sets what the scripted model answers. Each byte of a text is a token.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/serve/tool_calls_fixture.h"

namespace anemone::serve {
namespace {

using testing::Answer;
using testing::events_of;
using testing::expect_api_error;
using testing::fetch;
using testing::json_of;
using testing::post_text;
using testing::TestServer;

TEST_F(ToolCallsTest, AreMembersOfTheMessage) {
  say(asked_, std::string(kParisCall) + "\n" + kNowCall);
  const Json answer = post(asked_);
  const Json& choice = answer["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  const Json& message = choice["message"];
  EXPECT_TRUE(message["content"].is_null());
  ASSERT_EQ(message["tool_calls"].size(), 2U);
  const Json& call = message["tool_calls"][0];
  EXPECT_TRUE(call["id"].get<std::string>().starts_with("call_"));
  EXPECT_NE(call["id"], message["tool_calls"][1]["id"]);
  EXPECT_EQ(call["type"], "function");
  EXPECT_EQ(call["function"]["name"], "weather");
  EXPECT_EQ(call["function"]["arguments"], R"({"city": "Paris"})");
  EXPECT_EQ(message["tool_calls"][1]["function"]["name"], "now");
  EXPECT_GT(answer["usage"]["completion_tokens"], 100);
}

TEST_F(ToolCallsTest, AreStreamedPieceByPiece) {
  say(asked_, std::string("I look. ") + kParisCall + "\n" + kNowCall);
  const auto [deltas, finish] = stream(asked_);
  EXPECT_EQ(finish, "tool_calls");
  EXPECT_EQ(deltas.front()["role"], "assistant");
  std::string content;
  std::vector<Json> calls;
  std::size_t pieces = 0;
  for (const Json& delta : deltas) {
    if (delta.contains("content")) content += delta["content"].get<std::string>();
    if (!delta.contains("tool_calls")) continue;
    ASSERT_EQ(delta["tool_calls"].size(), 1U);
    const Json& piece = delta["tool_calls"][0];
    const auto index = piece["index"].get<std::size_t>();
    ++pieces;
    if (index == calls.size()) {
      EXPECT_TRUE(piece["id"].get<std::string>().starts_with("call_"));
      EXPECT_EQ(piece["type"], "function");
      EXPECT_EQ(piece["function"]["arguments"], "");
      calls.push_back(piece["function"]);
    } else {
      ASSERT_EQ(index + 1, calls.size());
      EXPECT_FALSE(piece.contains("id") || piece.contains("type"));
      EXPECT_FALSE(piece["function"].contains("name"));
      calls[index]["arguments"] = calls[index]["arguments"].get<std::string>() +
                                  piece["function"]["arguments"].get<std::string>();
    }
  }
  EXPECT_EQ(content, "I look.");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0], (Json{{"name", "weather"}, {"arguments", R"({"city": "Paris"})"}}));
  EXPECT_EQ(calls[1], (Json{{"name", "now"}, {"arguments", "{}"}}));
  EXPECT_GT(pieces, 15U) << "arguments go out while they are made";
}

TEST_F(ToolCallsTest, AreContentWithoutTools) {
  asked_["tool_choice"] = "none";
  say(asked_, kParisCall);
  const Json answer = post(asked_);
  EXPECT_EQ(answer["choices"][0]["message"]["content"], kParisCall);
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
}

TEST_F(ToolCallsTest, ThatAreNoneAreContent) {
  say(asked_, "<tool_call>\n{\"city\": 1}");
  const Json answer = post(asked_);
  EXPECT_EQ(answer["choices"][0]["message"]["content"], "<tool_call>\n{\"city\": 1}");
  EXPECT_FALSE(answer["choices"][0]["message"].contains("tool_calls"));
}

TEST_F(ToolCallsTest, EndWithTheTextThatIsCut) {
  say(asked_, kParisCall);
  asked_["max_tokens"] = 60;  // ends after "Paris"
  const Json choice = post(asked_)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["message"]["tool_calls"][0]["function"]["arguments"], R"({"city": "Paris)");
}

TEST_F(ToolCallsTest, AreOneWhereTheClientWantsNoMore) {
  say(asked_, std::string(kNowCall) + "\n" + kParisCall);
  EXPECT_EQ(message(asked_)["tool_calls"].size(), 2U);
  asked_["parallel_tool_calls"] = false;
  const Json choice = post(asked_)["choices"][0];
  ASSERT_EQ(choice["message"]["tool_calls"].size(), 1U);
  EXPECT_EQ(choice["message"]["tool_calls"][0]["function"]["name"], "now");
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
}

// In LFM2's syntax all calls of a list are known once it ends.
TEST(CallsOfAList, AreOneWhereTheClientWantsNoMore) {
  engine::testing::ScriptOptions options;
  options.chat_template =
      "{{ messages[0].content }}{% if tools %}T{% endif %}{# <|tool_call_start|> #}";
  TestServer server({}, options);
  auto ids = engine::testing::bytes_of(
      "<|tool_call_start|>[now(), weather(city=\"Paris\")]"
      "<|tool_call_end|>");
  ids.push_back(engine::testing::kImEnd);
  server.model().say(3, ids);  // after the 3 tokens of the prompt, "hiT"
  Json body = {{"messages", kHi}, {"tools", kTools}};
  const auto calls = [&] {
    const Json answer = json_of(fetch(server.port(), post_text(kChat, dump_json(body))).body);
    EXPECT_EQ(answer["choices"][0]["finish_reason"], "tool_calls");
    std::vector<std::string> names;
    for (const Json& call : answer["choices"][0]["message"]["tool_calls"])
      names.push_back(call["function"]["name"]);
    return names;
  };
  EXPECT_EQ(calls(), (std::vector<std::string>{"now", "weather"}));
  body["parallel_tool_calls"] = false;
  EXPECT_EQ(calls(), std::vector<std::string>{"now"});
}

// A forced call begins at once, without reasoning. After "{" the script wants the text to end,
// which the grammar does not allow. All other tokens have equal logits, so the grammar decides the
// rest.
TEST_F(ToolCallsTest, AreForced) {
  asked_["parallel_tool_calls"] = false;
  for (const char* choice :
       {R"("required")", R"({"type": "function", "function": {"name": "weather"}})",
        R"({"type": "allowed_tools", "allowed_tools": {"mode": "required",
                                "tools": [{"type": "function", "function": {"name": "weather"}}]}})"}) {
    asked_["tool_choice"] = *parse_json(choice, "choice");
    say(asked_, "<tool_call>\n{");
    const Json answer = post(asked_)["choices"][0];
    EXPECT_EQ(answer["finish_reason"], "tool_calls");
    ASSERT_TRUE(answer["message"].contains("tool_calls")) << dump_json(answer);
    ASSERT_EQ(answer["message"]["tool_calls"].size(), 1U) << dump_json(answer);
    const Json& function = answer["message"]["tool_calls"][0]["function"];
    const Json arguments = json_of(function["arguments"]);
    if (function["name"] == "now")
      EXPECT_EQ(arguments, Json::object());
    else
      EXPECT_TRUE(arguments["city"] == "Paris" || arguments["city"] == "Rome") << function;
    EXPECT_TRUE(function["name"] == "weather" || asked_["tool_choice"] == "required");
  }
}

// What a client would show of one that was cut off before its name is markup.
TEST_F(ToolCallsTest, ThatAreForcedLeaveNoMarkupWhereTheyAreCut) {
  asked_["tool_choice"] = "required";
  say(asked_, kParisCall);
  for (const int tokens : {4, 14, 25}) {
    asked_["max_tokens"] = tokens;
    const Json choice = post(asked_)["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "length");
    const Json& content = choice["message"]["content"];
    EXPECT_TRUE(content.is_null() || content == "") << dump_json(choice);
    for (const Json& delta : stream(asked_).first)
      EXPECT_EQ(delta.value("content", ""), "") << dump_json(delta);
  }
  // Where no call was asked for, what begins like one is content.
  asked_.erase("tool_choice");
  asked_["max_tokens"] = 4;
  EXPECT_EQ(message(asked_)["content"], "<too");
}

TEST_F(ToolCallsTest, OfStrictFunctionsAreValid) {
  asked_["tools"][0]["function"]["strict"] = true;
  asked_["parallel_tool_calls"] = false;
  // The model wants "Berlin", which is not in the enum, so the grammar does not allow it. All other
  // tokens have equal logits, so either of the valid cities may follow.
  say(asked_, "Hm. <tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Berlin\"}}");
  const Json choice = post(asked_)["choices"][0];
  EXPECT_EQ(choice["message"]["content"], "Hm.");
  ASSERT_EQ(choice["message"]["tool_calls"].size(), 1U);
  const Json arguments = json_of(choice["message"]["tool_calls"][0]["function"]["arguments"]);
  EXPECT_TRUE(arguments["city"] == "Paris" || arguments["city"] == "Rome");
}

TEST_F(ToolCallsTest, AreAnsweredInAnotherTurn) {
  asked_["messages"].push_back(
      {{"role", "assistant"},
       {"content", nullptr},
       {"tool_calls",
        Json::array(
            {{{"id", "call_1"},
              {"type", "function"},
              {"function", {{"name", "weather"}, {"arguments", R"({"city": "Paris"})"}}}}})}});
  asked_["messages"].push_back({{"role", "tool"}, {"tool_call_id", "call_1"}, {"content", "sun"}});
  asked_["max_tokens"] = 1;
  // "user:hi", "assistant:weatherParis", "tool:sun", and "T\n" as there are tools. A line end right
  // after a tag of the template is left out (trim_blocks), so messages have none.
  EXPECT_EQ(post(asked_)["usage"]["prompt_tokens"], 7 + 22 + 8 + 2);
}

TEST_F(ToolCallsTest, OfSeveralChoicesAreIndependent) {
  say(asked_, kParisCall);
  asked_["n"] = 2;
  const Json answer = post(asked_);
  ASSERT_EQ(answer["choices"].size(), 2U);
  const auto id = [&](std::size_t i) {
    return answer["choices"][i]["message"]["tool_calls"][0]["id"].get<std::string>();
  };
  EXPECT_NE(id(0), id(1));
}

TEST_F(ToolCallsTest, LeaveTheLogprobsOfAllTokens) {
  say(asked_, kNowCall);
  asked_["logprobs"] = true;
  std::string text;
  const Json answer = post(asked_);
  for (const Json& entry : answer["choices"][0]["logprobs"]["content"])
    text += entry["token"].get<std::string>();
  EXPECT_EQ(text, kNowCall);
  text.clear();
  asked_["stream"] = true;
  for (const std::string& event :
       events_of(fetch(server_.port(), post_text(kChat, dump_json(asked_))).body)) {
    if (event == "[DONE]") continue;
    const Json logprobs = json_of(event)["choices"][0]["logprobs"];
    if (logprobs.is_null()) continue;
    for (const Json& entry : logprobs["content"]) text += entry["token"].get<std::string>();
  }
  EXPECT_EQ(text, kNowCall);
}

TEST_F(ToolCallsTest, ReasoningIsAMemberOfItsOwn) {
  Json body = {{"messages", kHi}};
  say(body, "<think>\nHm.\n</think>\n\nYes.");
  const Json answer = message(body);
  EXPECT_EQ(answer["content"], "Yes.");
  EXPECT_EQ(answer["reasoning_content"], "Hm.");
  std::string content, reasoning;
  for (const Json& delta : stream(body).first) {
    if (delta.contains("content")) content += delta["content"].get<std::string>();
    if (delta.contains("reasoning_content"))
      reasoning += delta["reasoning_content"].get<std::string>();
  }
  EXPECT_EQ(content, "Yes.");
  EXPECT_EQ(reasoning, "Hm.");
}

TEST_F(ToolCallsTest, ReasoningMayBeginInThePrompt) {
  Json body = {{"messages", kHi}, {"enable_thinking", true}};
  say(body, "Hm.\n</think>\n\nYes.");
  EXPECT_EQ(message(body)["reasoning_content"], "Hm.");
  EXPECT_EQ(message(body)["content"], "Yes.");
  // chat_template_kwargs override enable_thinking: without <think> in the prompt, all is content.
  body["chat_template_kwargs"] = {{"enable_thinking", false}};
  say(body, "Yes.");
  EXPECT_FALSE(message(body).contains("reasoning_content"));
  body = {{"messages", kHi}, {"reasoning_effort", "none"}, {"max_tokens", 1}};
  EXPECT_EQ(post(body)["usage"]["prompt_tokens"], 7) << "no <think>";
}

TEST_F(ToolCallsTest, AFormatBeginsBehindTheReasoning) {
  Json body = {{"messages", kHi}, {"enable_thinking", true}};
  body["response_format"] = *parse_json(R"({"type": "json_schema", "json_schema": {"name": "n",
      "schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}})",
                                        "format");
  say(body, "Hm {.\n</think>\n\n{\"a\": 7}");
  const Json answer = message(body);
  EXPECT_EQ(answer["reasoning_content"], "Hm {.");
  EXPECT_EQ(answer["content"], R"({"a": 7})");
}

TEST_F(ToolCallsTest, NoReasoningFollowsAnEmptyOneInThePrompt) {
  Json body = {{"messages", kHi}, {"guided_choice", {"yes", "no"}}};
  say(body, "<think>Hm.</think>no");
  EXPECT_EQ(message(body)["reasoning_content"], "Hm.");
  body["chat_template_kwargs"] = {{"has_empty_reasoning", true}};
  say(body, "<think>Hm.</think>no");
  EXPECT_FALSE(message(body).contains("reasoning_content"));
  EXPECT_EQ(message(body)["content"], "no")
      << "of the allowed tokens, which have equal logits, the lowest id is taken";
}

TEST_F(ToolCallsTest, NeedATemplateThatTakesThem) {
  engine::testing::ScriptOptions plain;
  plain.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}";
  TestServer server({}, plain);
  expect_api_error(fetch(server.port(), post_text(kChat, dump_json(asked_))), 400, "tools",
                   "unsupported_value");
  asked_["tool_choice"] = "none";
  EXPECT_EQ(fetch(server.port(), post_text(kChat, dump_json(asked_))).status, 200);
}

TEST_F(ToolCallsTest, AreRefusedWithASchemaThatCannotBeFollowed) {
  asked_["tools"][1]["function"]["parameters"] = {{"type", "object"}, {"not", Json::object()}};
  asked_["max_tokens"] = 1;
  post(asked_);
  asked_["tool_choice"] = "required";
  expect_refused(asked_, "tools#/not", "unsupported_value");
  Json many = Json::array();
  for (int i = 0; i < 129; ++i) many.push_back({{"function", {{"name", fmt::format("f{}", i)}}}});
  expect_refused({{"messages", kHi}, {"tools", many}}, "tools");
}

// Phi-4-mini's template reads the tools from the system message.
TEST(ToolsInAMessage, AreATextOfFunctions) {
  engine::testing::ScriptOptions options;
  options.chat_template =
      "{% for message in messages %}{% if 'tools' in message %}<|tool|>{{ message['tools'] }}"
      "{% endif %}{{ message.content }}{% endfor %}";
  TestServer server({}, options);
  const auto tokens = [&](const Json& messages) {
    const Json body = {
        {"messages", messages}, {"tools", Json::array({kTools[1]})}, {"max_tokens", 1}};
    return json_of(
        fetch(server.port(), post_text(kChat, dump_json(body))).body)["usage"]["prompt_tokens"];
  };
  const std::string text = R"(<|tool|>[{"name":"now"}]hi)";
  EXPECT_EQ(tokens(kHi), text.size());
  EXPECT_EQ(tokens(Json::array({{{"role", "system"}, {"content", "be"}}, kHi[0]})),
            text.size() + 2);
}

// Markers may be special tokens, which give no text in other answers.
TEST(SpecialMarkers, ReachTheParser) {
  engine::testing::ScriptOptions options;
  options.chat_template = "{{ messages[0].content }}{% if tools %}T{% endif %}{# <|tool_call|> #}";
  options.special_tokens = {"<|tool_call|>"};
  TestServer server({}, options);
  auto ids = std::vector<std::int32_t>{engine::testing::kTextVocab};
  const auto rest = engine::testing::bytes_of(R"([{"name": "now", "arguments": {}}])");
  ids.insert(ids.end(), rest.begin(), rest.end());
  ids.push_back(engine::testing::kImEnd);
  server.model().say(3, ids);  // after the 3 tokens of the prompt, "hiT"
  Json body = {{"messages", kHi}, {"tools", kTools}};
  const auto ask = [&] {
    return json_of(
        fetch(server.port(), post_text(kChat, dump_json(body))).body)["choices"][0]["message"];
  };
  EXPECT_EQ(ask()["tool_calls"][0]["function"]["name"], "now");
  // The grammar of a forced call accepts the special token as well as its text, byte by byte.
  body["tool_choice"] = "required";
  body["parallel_tool_calls"] = false;
  EXPECT_EQ(ask()["tool_calls"][0]["function"]["name"], "now");
  body = {{"messages", Json::array({{{"role", "user"}, {"content", "hi!"}}})}};
  EXPECT_EQ(ask()["content"], R"([{"name": "now", "arguments": {}}])");
}

}  // namespace
}  // namespace anemone::serve
