// SPDX-License-Identifier: Apache-2.0
// The OpenAI codecs without sockets and without a model.
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "serve/openai/answer.h"
#include "serve/openai/error.h"
#include "serve/openai/request.h"
#include "tests/support/shared_data.h"

namespace anemone::serve::openai {
namespace {

// The schemas are there twice, for the template and for the answer.
TEST(ChatRequestCodec, ChargesTheBudgetForTheToolsThatItKeeps) {
  std::string values = "0";
  for (int i = 1; i < 50'000; ++i) values += fmt::format(",{}", i);
  const auto status_of = [&](std::string_view key) {
    WorkBudget budget("request",
                      {.cpu_time = std::chrono::milliseconds(60'000), .bytes = 2'200'000});
    return parse_chat_request(
               fmt::format(R"({{"messages": [{{"role": "user", "content": "hi"}}], "{}": [
                 {{"function": {{"name": "f", "parameters": {{"enum": [{}]}}}}}}]}})",
                           key, values),
               &budget)
        .status();
  };
  EXPECT_TRUE(status_of("unknown").ok()) << status_of("unknown").message();
  EXPECT_EQ(status_of("tools").code(), Code::kInvalidArgument);
  EXPECT_TRUE(status_of("tools").message().starts_with("[request] "))
      << status_of("tools").message();
}

TEST(ChatRequestCodec, ReadsEveryField) {
  const auto request = parse_chat_request(R"({
    "model": "m", "messages": [{"role": "user", "content": "hi", "name": "me"}],
    "temperature": 0.5, "top_p": 0.9, "top_k": -1, "min_p": 0.1, "seed": -3,
    "presence_penalty": 1, "frequency_penalty": -1, "repeat_penalty": 1.1,
    "logit_bias": {"5": -100, "7": 2.5}, "max_completion_tokens": 8, "stop": ["a", "b"], "n": 3,
    "stream": true, "stream_options": {"include_usage": true}, "logprobs": true,
    "top_logprobs": 4, "ignore_eos": true, "chat_template_kwargs": {"enable_thinking": false}})");
  ASSERT_TRUE(request.ok()) << request.status().message();
  const Generation& g = request->generation;
  EXPECT_EQ(g.model, "m");
  EXPECT_EQ(g.sampling.temperature, 0.5);
  EXPECT_EQ(g.sampling.top_p, 0.9);
  EXPECT_EQ(g.sampling.top_k, 0) << "-1 is all";
  EXPECT_EQ(g.sampling.min_p, 0.1);
  EXPECT_EQ(g.sampling.seed, static_cast<std::uint64_t>(-3));
  EXPECT_EQ(g.sampling.presence_penalty, 1);
  EXPECT_EQ(g.sampling.frequency_penalty, -1);
  EXPECT_EQ(g.sampling.repetition_penalty, 1.1);
  const std::vector<std::pair<std::int32_t, float>> bias = {{5, -100.0F}, {7, 2.5F}};
  EXPECT_EQ(g.sampling.logit_bias, bias);
  EXPECT_EQ(g.max_tokens, 8);
  EXPECT_EQ(g.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(g.choices, 3);
  EXPECT_EQ(g.top_logprobs, 4);
  EXPECT_TRUE(g.is_stream && g.has_stream_usage && g.ignore_eos);
  EXPECT_EQ(request->variables, (Json{{"enable_thinking", false}}));
  EXPECT_EQ(request->messages[0]["name"], "me");
}

TEST(ChatRequestCodec, LeavesToTheModelWhatIsNotSaid) {
  const auto request = parse_chat_request(R"({"messages": [{"role": "user", "content": ""}]})");
  ASSERT_TRUE(request.ok());
  const Generation& g = request->generation;
  EXPECT_FALSE(g.sampling.temperature || g.sampling.top_p || g.sampling.seed || g.max_tokens ||
               g.top_logprobs);
  EXPECT_EQ(g.choices, 1);
}

TEST(ChatRequestCodec, GivesTemplatesTheArgumentsOfCallsAsObjects) {
  const auto request = parse_chat_request(R"({"messages": [
    {"role": "assistant", "content": null, "tool_calls": [
      {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}},
      {"id": "2", "type": "function", "function": {"name": "g", "arguments": "not json"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "2"}, {"role": "assistant"}]})");
  ASSERT_TRUE(request.ok()) << request.status().message();
  const Json& calls = request->messages[0]["tool_calls"];
  EXPECT_EQ(calls[0]["function"]["arguments"], (Json{{"x", 1}}));
  EXPECT_EQ(calls[1]["function"]["arguments"], "not json");
  // Templates look for markers in it.
  EXPECT_EQ(request->messages[0]["content"], "");
  EXPECT_EQ(request->messages[2]["content"], "");
}

TEST(ChatRequestCodec, GivesTemplatesTheReasoningByBothNames) {
  const auto request = parse_chat_request(R"({"messages": [
    {"role": "assistant", "content": "a", "reasoning_content": "r"},
    {"role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [
      {"function": {"name": "f", "arguments": "{}"}}]},
    {"role": "assistant", "content": "a", "reasoning_content": "r", "tool_calls": [
      {"function": {"name": "f", "arguments": "{}"}}]},
    {"role": "user", "content": "a", "reasoning_content": "r"}]})");
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->messages[0]["thinking"], "r");
  EXPECT_EQ(request->messages[1]["thinking"], "r");
  EXPECT_FALSE(request->messages[2].contains("thinking"));
  EXPECT_FALSE(request->messages[3].contains("thinking"));
  EXPECT_EQ(request->messages[2]["reasoning_content"], "r");
}

TEST(ChatRequestCodec, SaysWhatAPartHasInPlaceOfText) {
  const auto message = [](const std::string& part) {
    return parse_chat_request(R"({"messages": [{"role": "user", "content": [)" + part + "]}]}")
        .status()
        .message();
  };
  const std::string expected =
      "[messages[0].content[0]] expected a string with the text of the part, got ";
  EXPECT_EQ(message(R"({"type": "text", "text": 5})"), expected + "5");
  EXPECT_EQ(message(R"({"type": "text"})"), expected + "none");
}

TEST(RequestCodecs, ReadHowLongTheModelStays) {
  using Time = std::optional<std::chrono::milliseconds>;
  const auto time_of = [](const std::string& value) {
    const auto request = parse_embedding_request(R"({"input": "x", "keep_alive": )" + value + "}");
    EXPECT_TRUE(request.ok()) << request.status().message();
    EXPECT_TRUE(request->keep_alive.has_value()) << value;
    return request->keep_alive.value_or(KeepAlive()).time;
  };
  EXPECT_EQ(time_of("300"), Time(std::chrono::seconds(300)));
  EXPECT_EQ(time_of("0"), Time(std::chrono::seconds(0)));
  EXPECT_EQ(time_of("0.5"), Time(std::chrono::milliseconds(500)));
  EXPECT_EQ(time_of(R"("5m")"), Time(std::chrono::minutes(5)));
  for (const char* value : {"-1", "-0.5", R"("-1")", R"("-5m")"})
    EXPECT_EQ(time_of(value), Time()) << value;
  const auto unsaid = parse_embedding_request(R"({"input": "x", "keep_alive": null})");
  ASSERT_TRUE(unsaid.ok());
  EXPECT_FALSE(unsaid->keep_alive.has_value());
  EXPECT_EQ(parse_embedding_request(R"({"input": "x", "keep_alive": "soon"})").status().message(),
            "[keep_alive] expected a time of at most 365 days, as 300, \"5m\" or \"1h\", or -1, "
            "got \"soon\"");
}

TEST(CompletionRequestCodec, TellsTextsFromIds) {
  const auto one = parse_completion_request(R"({"prompt": [1, 2]})");
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one->prompts.size(), 1U);
  EXPECT_EQ(std::get<1>(one->prompts[0]), (std::vector<std::int32_t>{1, 2}));
  const auto mixed = parse_completion_request(R"({"prompt": ["a", [3]], "best_of": 1})");
  ASSERT_TRUE(mixed.ok()) << mixed.status().message();
  EXPECT_EQ(std::get<0>(mixed->prompts[0]), "a");
  EXPECT_EQ(std::get<1>(mixed->prompts[1]), (std::vector<std::int32_t>{3}));
}

TEST(ApiErrors, FollowFromTheCode) {
  const auto status = [](const Status& error) { return api_error(error).status; };
  EXPECT_EQ(status(invalid_argument("[n] x")), 400);
  EXPECT_EQ(status(parse_error("[body] x")), 400);
  EXPECT_EQ(status(unsupported("[n] x")), 400);
  EXPECT_EQ(status(not_found("[model] x")), 404);
  EXPECT_EQ(status(busy("x")), 429);
  EXPECT_EQ(status(cancelled("x")), 503);
  EXPECT_EQ(status(out_of_memory("x")), 503);
  EXPECT_EQ(status(internal_error("x")), 500);
  EXPECT_EQ(status(corrupt("x")), 500);
  EXPECT_EQ(api_error(invalid_argument("[messages[1].role] expected [x] y")).param,
            "messages[1].role");
  EXPECT_EQ(api_error(parse_error("[body] expected JSON")).param, "");
  const Json json = to_json(api_error(parse_error("[body] expected JSON")));
  EXPECT_TRUE(json["error"]["param"].is_null());
  EXPECT_TRUE(json["error"]["code"].is_null());
}

// Where the files of a server lie is no business of its clients.
TEST(ApiErrors, NameNoFolderOfTheServer) {
  EXPECT_EQ(api_error(corrupt("[/srv/m/weight.bin] expected b, got /srv/d (/srv/m)")).message,
            "[weight.bin] expected b, got d (m)");
  EXPECT_EQ(api_error(io_error("[a/b.bin] cannot read")).message, "[b.bin] cannot read");
  // What the client wrote itself.
  EXPECT_EQ(api_error(not_found("[model] expected a model, got a/b")).message,
            "[model] expected a model, got a/b");
  EXPECT_EQ(api_error(corrupt("[weight.bin] a [b/c] d")).message, "[weight.bin] a [c] d");
  EXPECT_EQ(api_error(internal_error("a/b")).message, "b");
}

TEST(ApiErrors, AreDocumentedWithTheExitCodes) {
  std::ifstream file(anemone::testing::source_path("docs/errors.md"));
  ASSERT_TRUE(file.is_open());
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  for (int i = 1; i <= static_cast<int>(Code::kInternal); ++i) {
    const Code code = static_cast<Code>(i);
    const std::string row = fmt::format("| `{}` | {} | {} |", code_name(code), exit_code(code),
                                        api_error(Status(code, "x")).status);
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

TEST(Answers, AreValidJsonWhateverTheBytesOfATokenAre) {
  Choice choice;
  choice.text = "é";
  choice.tokens =
      ScoredTokens{{"\xc3", -1.0, {{"\xc3", -1.0}, {"\xc4", -2.0}}, 0}, {"\xa9", -0.5, {}, 1}};
  for (const Protocol protocol : {Protocol::kChat, Protocol::kText}) {
    const AnswerHead head = {protocol, "id", 1, "m"};
    const std::string text = answer_text(head, {dump_json(choice_json(head, choice))}, {});
    ASSERT_TRUE(parse_json(text, "answer").ok()) << text;
  }
  const AnswerHead head = {Protocol::kChat, "id", 1, "m"};
  const std::string one = dump_json(choice_json(head, choice));
  const Json chat = *parse_json(answer_text(head, {one, one}, {}), "answer");
  EXPECT_EQ(chat["choices"].size(), 2U);
  EXPECT_EQ(chat["usage"]["total_tokens"], 0);
  EXPECT_EQ(chat["choices"][0]["logprobs"]["content"][0]["bytes"], Json::array({0xc3}));
  EXPECT_EQ(chat["choices"][0]["logprobs"]["content"][0]["token"], "bytes:\\xc3");
}

TEST(Answers, NeverNameAnUnknownFinishReason) {
  using engine::FinishReason;
  EXPECT_EQ(wire_finish_reason({}, FinishReason::kStop, false), "stop");
  EXPECT_EQ(wire_finish_reason({}, FinishReason::kStop, true), "tool_calls");
  AnswerHead with_functions;
  with_functions.has_function_call = true;
  EXPECT_EQ(wire_finish_reason(with_functions, FinishReason::kStop, true), "function_call");
  EXPECT_EQ(wire_finish_reason(with_functions, FinishReason::kStop, false), "stop");
  EXPECT_EQ(wire_finish_reason({}, FinishReason::kRepeat, false), "stop");
  EXPECT_EQ(wire_finish_reason({}, FinishReason::kLength, false), "length");
  EXPECT_EQ(wire_finish_reason({}, FinishReason::kLength, true), "length");
}

}  // namespace
}  // namespace anemone::serve::openai
