// SPDX-License-Identifier: Apache-2.0
// Forced and strict calls of Gemma 4 over HTTP, whose special tokens stand around texts as well.
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "tests/serve/tool_calls_fixture.h"

namespace anemone::serve {
namespace {

using testing::fetch;
using testing::json_of;
using testing::post_text;
using testing::TestServer;

TEST(CallsOfGemma, AreForced) {
  engine::testing::ScriptOptions options;
  options.chat_template =
      "{{ messages[0].content }}{% if tools %}T{% endif %}{# <|tool_call>call: #}";
  options.special_tokens = {"<|tool_call>", "<tool_call|>", "<|\"|>"};
  TestServer server({}, options);
  constexpr std::int32_t kOpen = engine::testing::kTextVocab;
  constexpr std::int32_t kMark = kOpen + 2;
  const auto say = [&](std::string_view name, std::string_view city) {
    std::vector<std::int32_t> ids = {kOpen};
    const auto add = [&](std::string_view text) {
      const auto bytes = engine::testing::bytes_of(text);
      ids.insert(ids.end(), bytes.begin(), bytes.end());
    };
    add("call:" + std::string(name) + "{city:");
    ids.push_back(kMark);
    add(city);
    ids.push_back(kMark);
    add("}");
    ids.push_back(kOpen + 1);
    ids.push_back(engine::testing::kImEnd);
    server.model().say(3, ids);  // after the 3 tokens of the prompt, "hiT"
  };
  Json body = {{"messages", kHi}, {"tools", kTools}, {"parallel_tool_calls", false}};
  const auto call = [&] {
    const testing::Answer answer = fetch(server.port(), post_text(kChat, dump_json(body)));
    EXPECT_EQ(answer.status, 200) << answer.body;
    const Json choice = json_of(answer.body)["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "tool_calls") << answer.body;
    const Json function = choice["message"]["tool_calls"][0]["function"];
    EXPECT_EQ(function["name"], "weather");
    return json_of(function["arguments"])["city"].get<std::string>();
  };
  for (const char* choice :
       {R"("required")", R"({"type": "function", "function": {"name": "weather"}})"}) {
    body["tool_choice"] = *parse_json(choice, "choice");
    say("weather", "Rome");
    EXPECT_EQ(call(), "Rome");
  }
  // The tools have neither this function nor this city, so the grammar leaves only theirs.
  say("whether", "Berlin");
  const std::string forced = call();
  EXPECT_TRUE(forced == "Paris" || forced == "Rome") << forced;
  body.erase("tool_choice");
  body["tools"][0]["function"]["strict"] = true;
  say("weather", "Berlin");
  const std::string strict = call();
  EXPECT_TRUE(strict == "Paris" || strict == "Rome") << strict;
}

}  // namespace
}  // namespace anemone::serve
