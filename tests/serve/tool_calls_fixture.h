// SPDX-License-Identifier: Apache-2.0
// A server of a scripted model whose chat template takes tools.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/serve/test_server.h"

namespace anemone::serve {

inline constexpr const char* kChat = "/v1/chat/completions";

// A template of few bytes that takes tools and, where it is asked to, begins the reasoning.
inline constexpr const char* kThinkingTemplate =
    "{% for m in messages %}{{ m.role }}:{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments.city }}"
    "{% endfor %}\n{% endfor %}{% if tools %}T\n{% endif %}"
    "{% if enable_thinking %}<think>\n{% endif %}"
    "{% if has_empty_reasoning %}<think>\n\n</think>\n\n{% endif %}"
    "{# <tool_call>{\"name\": ..., \"arguments\": ...}</tool_call>, </think> #}";

inline const Json kHi = Json::array({{{"role", "user"}, {"content", "hi"}}});
inline const Json kTools = *parse_json(R"([
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
      "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "now"}}])",
                                       "tools");
inline constexpr const char* kParisCall =
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";
inline constexpr const char* kNowCall =
    "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";

inline engine::testing::ScriptOptions tool_script() {
  engine::testing::ScriptOptions out;
  out.chat_template = kThinkingTemplate;
  return out;
}

class ToolCallsTest : public ::testing::Test {
 protected:
  Json post(const Json& body) {
    const testing::Answer answer =
        testing::fetch(server_.port(), testing::post_text(kChat, dump_json(body)));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return testing::json_of(answer.body);
  }
  Json message(const Json& body) { return post(body)["choices"][0]["message"]; }
  // The deltas of a stream, and the reason at its end.
  std::pair<std::vector<Json>, std::string> stream(Json body) {
    body["stream"] = true;
    const testing::Answer answer =
        testing::fetch(server_.port(), testing::post_text(kChat, dump_json(body)));
    EXPECT_EQ(answer.status, 200) << answer.body;
    std::pair<std::vector<Json>, std::string> out;
    for (const std::string& event : testing::events_of(answer.body)) {
      if (event == "[DONE]") continue;
      const Json choice = testing::json_of(event)["choices"][0];
      out.first.push_back(choice["delta"]);
      if (choice["finish_reason"].is_string()) out.second = choice["finish_reason"];
    }
    return out;
  }
  void expect_refused(const Json& body, const char* param, const char* code = nullptr) {
    testing::expect_api_error(
        testing::fetch(server_.port(), testing::post_text(kChat, dump_json(body))), 400, param,
        code);
  }
  // Has the model answer the request with this text: sets what it gives from the end of the
  // request's prompt on.
  void say(Json body, std::string_view text) {
    body["max_tokens"] = 1;
    const auto at = post(body)["usage"]["prompt_tokens"].get<std::int64_t>();
    auto ids = engine::testing::bytes_of(text);
    ids.push_back(engine::testing::kImEnd);
    server_.model().say(at, ids);
  }

  testing::TestServer server_{{}, tool_script()};
  Json asked_ = {{"messages", kHi}, {"tools", kTools}};
};

}  // namespace anemone::serve
