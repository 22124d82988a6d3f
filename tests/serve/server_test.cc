// SPDX-License-Identifier: Apache-2.0
// The OpenAI API over real sockets: what is answered.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <thread>

#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using testing::Answer;
using testing::events_of;
using testing::fetch;
using testing::get_text;
using testing::HttpClient;
using testing::json_of;
using testing::letters;
using testing::post_text;
using testing::TestServer;

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kCompletions = "/v1/completions";

class ServerTest : public ::testing::Test {
 protected:
  Json get_json(const std::string& path) {
    const Answer answer = fetch(server_.port(), get_text(path));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json_of(answer.body);
  }
  Json post_json(const std::string& path, const Json& body) {
    const Answer answer = fetch(server_.port(), post_text(path, dump_json(body)));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    EXPECT_TRUE(answer.header("X-Request-Id").starts_with("req_"));
    return json_of(answer.body);
  }
  // The events of a stream but the last, which is [DONE].
  std::vector<Json> post_stream(const std::string& path, Json body) {
    body["stream"] = true;
    const Answer answer = fetch(server_.port(), post_text(path, dump_json(body)));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_TRUE(answer.is_complete);
    EXPECT_TRUE(answer.header("Content-Type").starts_with("text/event-stream"));
    EXPECT_EQ(answer.header("Cache-Control"), "no-cache");
    std::vector<Json> out;
    const auto events = events_of(answer.body);
    EXPECT_FALSE(events.empty());
    for (std::size_t i = 0; i + 1 < events.size(); ++i) out.push_back(json_of(events[i]));
    EXPECT_EQ(events.back(), "[DONE]");
    return out;
  }

  TestServer server_;
};

// The template makes "user:hi\n" of it: 8 tokens.
const Json kHi = Json::array({{{"role", "user"}, {"content", "hi"}}});
constexpr std::int64_t kHiTokens = 8;

TEST_F(ServerTest, ListsItsModelsByAllNames) {
  const Json list = get_json("/v1/models");
  EXPECT_EQ(list["object"], "list");
  ASSERT_EQ(list["data"].size(), 2U);
  EXPECT_EQ(list["data"][0]["id"], "tiny");
  EXPECT_EQ(list["data"][0]["object"], "model");
  EXPECT_TRUE(list["data"][0]["created"].is_number_integer());
  EXPECT_EQ(list["data"][0]["max_model_len"], testing::kTestContext);
  EXPECT_EQ(list["data"][0]["meta"]["n_ctx"], testing::kTestContext);
  EXPECT_EQ(get_json("/v1/models/tiny")["id"], "tiny");
  EXPECT_EQ(get_json("/models/tiny")["id"], "tiny");
  EXPECT_EQ(get_json("/models"), get_json("/v1/models"));
  EXPECT_EQ(get_json("/v1/models/other/name")["id"], "other/name");
  EXPECT_EQ(get_json("/v1/models/other%2Fname?x=1")["id"], "other/name");
}

TEST_F(ServerTest, SaysThatItIsWell) {
  const Json health = get_json("/health");
  EXPECT_EQ(health["status"], "ok");
  EXPECT_EQ(health["requests"]["running"], 0);
}

TEST_F(ServerTest, AnswersHeadAndOptions) {
  HttpClient client(server_.port());
  ASSERT_TRUE(client.send("HEAD /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  const Answer head = client.receive(/*is_head=*/true);
  EXPECT_EQ(head.status, 200);
  EXPECT_NE(head.header("Content-Length"), "0");
  // The connection goes on, so the head had no body.
  ASSERT_TRUE(client.send("OPTIONS /v1/completions HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  const Answer options = client.receive();
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.header("Allow"), "POST, OPTIONS");
  EXPECT_EQ(options.header("Access-Control-Allow-Origin"), "");
}

TEST_F(ServerTest, AnswersAChat) {
  const Json answer = post_json(kChat, {{"model", "tiny"}, {"messages", kHi}, {"max_tokens", 5}});
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_TRUE(answer["id"].get<std::string>().starts_with("chatcmpl-"));
  EXPECT_EQ(answer["model"], "tiny");
  ASSERT_EQ(answer["choices"].size(), 1U);
  const Json& choice = answer["choices"][0];
  EXPECT_EQ(choice["index"], 0);
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["message"]["content"], letters(kHiTokens, 5));
  EXPECT_TRUE(choice["logprobs"].is_null());
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], kHiTokens);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 5);
  EXPECT_EQ(answer["usage"]["total_tokens"], kHiTokens + 5);
}

TEST_F(ServerTest, KeepsThePrefixOfTheLastRequest) {
  const Json body = {{"messages", kHi}, {"max_tokens", 1}};
  EXPECT_EQ(post_json(kChat, body)["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  // The last token is run again, for its logits.
  EXPECT_EQ(post_json(kChat, body)["usage"]["prompt_tokens_details"]["cached_tokens"],
            kHiTokens - 1);
}

TEST_F(ServerTest, TakesContentPartsToolsAndTheNewerNames) {
  Json body = {
      {"messages", Json::array({{{"role", "developer"}, {"content", "be"}},
                                {{"role", "user"},
                                 {"content", Json::array({{{"type", "text"}, {"text", "h"}},
                                                          {{"type", "text"}, {"text", "i"}}})}}})},
      {"max_completion_tokens", 2},
      {"max_tokens", 7}};
  // "system:be\nuser:hi\n".
  EXPECT_EQ(post_json(kChat, body)["usage"]["prompt_tokens"], 18);
  EXPECT_EQ(post_json(kChat, body)["usage"]["completion_tokens"], 2);
  body["tools"] =
      Json::array({{{"type", "function"}, {"function", {{"name", "f"}, {"parameters", {}}}}}});
  EXPECT_EQ(post_json(kChat, body)["usage"]["prompt_tokens"], 18 + 8) << "\"1 tools\\n\"";
  body["tool_choice"] = "none";
  EXPECT_EQ(post_json(kChat, body)["usage"]["prompt_tokens"], 18);
}

TEST_F(ServerTest, StreamsAChat) {
  const auto chunks = post_stream(kChat, {{"model", "tiny"}, {"messages", kHi}, {"max_tokens", 3}});
  ASSERT_EQ(chunks.size(), 5U);
  EXPECT_EQ(chunks[0]["choices"][0]["delta"]["role"], "assistant");
  std::string text;
  for (const Json& chunk : chunks) {
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    EXPECT_EQ(chunk["id"], chunks[0]["id"]);
    EXPECT_FALSE(chunk.contains("usage"));
    const Json& delta = chunk["choices"][0]["delta"];
    if (delta.contains("content")) text += delta["content"].get<std::string>();
    EXPECT_EQ(chunk["choices"][0]["finish_reason"].is_null(), &chunk != &chunks.back());
  }
  EXPECT_EQ(text, letters(kHiTokens, 3));
  EXPECT_EQ(chunks.back()["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(chunks.back()["choices"][0]["delta"], Json::object());
}

TEST_F(ServerTest, StreamsTheUsageOnRequest) {
  const auto chunks = post_stream(
      kChat, {{"messages", kHi}, {"max_tokens", 2}, {"stream_options", {{"include_usage", true}}}});
  ASSERT_EQ(chunks.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(chunks[i].at("usage").is_null());
  EXPECT_EQ(chunks[4]["choices"], Json::array());
  EXPECT_EQ(chunks[4]["usage"]["total_tokens"], kHiTokens + 2);
}

TEST_F(ServerTest, StreamsToOldClientsUntilTheConnectionEnds) {
  const std::string body = R"({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2,
    "stream": true})";
  std::string request = post_text(kChat, body);
  request.replace(request.find("HTTP/1.1"), 8, "HTTP/1.0");
  const Answer answer = fetch(server_.port(), request);
  EXPECT_EQ(answer.header("Transfer-Encoding"), "");
  EXPECT_EQ(answer.header("Connection"), "close");
  EXPECT_EQ(events_of(answer.body).back(), "[DONE]");
}

TEST_F(ServerTest, CompletesTextsAndIdsAndListsOfThem) {
  const Json one = post_json(kCompletions, {{"model", "tiny"}, {"prompt", "xyz"}});
  EXPECT_EQ(one["object"], "text_completion");
  EXPECT_TRUE(one["id"].get<std::string>().starts_with("cmpl-"));
  EXPECT_EQ(one["choices"][0]["text"], letters(3, 16)) << "16 tokens, as at OpenAI";
  const Json ids = post_json(kCompletions, {{"prompt", {5, 6}}, {"max_tokens", 2}});
  EXPECT_EQ(ids["choices"][0]["text"], letters(2, 2));
  const Json many = post_json(
      kCompletions, {{"prompt", {"x", "xyz"}}, {"max_tokens", 2}, {"n", 2}, {"temperature", 0}});
  ASSERT_EQ(many["choices"].size(), 4U);
  EXPECT_EQ(many["choices"][1]["text"], letters(1, 2));
  EXPECT_EQ(many["choices"][3]["index"], 3);
  EXPECT_EQ(many["choices"][3]["text"], letters(3, 2));
  EXPECT_EQ(many["usage"]["prompt_tokens"], 4);
  EXPECT_EQ(many["usage"]["completion_tokens"], 8);
  const Json lists =
      post_json(kCompletions, {{"prompt", Json::array({{1}, {1, 2}})}, {"max_tokens", 1}});
  EXPECT_EQ(lists["choices"][1]["text"], letters(2, 1));
}

TEST_F(ServerTest, EndsAtStopStringsAcrossTokens) {
  for (const Json& stop : {Json("gh"), Json::array({"zz", "gh"})}) {
    const Json answer =
        post_json(kCompletions, {{"prompt", "x"}, {"max_tokens", 50}, {"stop", stop}});
    EXPECT_EQ(answer["choices"][0]["text"], "bcdef");
    EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  }
  std::string text;
  for (const Json& chunk :
       post_stream(kCompletions, {{"prompt", "x"}, {"max_tokens", 50}, {"stop", "gh"}}))
    text += chunk["choices"][0]["text"].get<std::string>();
  EXPECT_EQ(text, "bcdef");
}

TEST_F(ServerTest, GivesLogProbabilitiesInBothShapes) {
  const Json chat = post_json(
      kChat, {{"messages", kHi}, {"max_tokens", 2}, {"logprobs", true}, {"top_logprobs", 2}});
  const Json& content = chat["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 2U);
  EXPECT_EQ(content[0]["token"], letters(kHiTokens, 1));
  EXPECT_EQ(content[0]["bytes"], Json::array({'a' + kHiTokens}));
  EXPECT_LT(content[0]["logprob"], 0);
  ASSERT_EQ(content[0]["top_logprobs"].size(), 2U);
  EXPECT_EQ(content[0]["top_logprobs"][0]["token"], letters(kHiTokens, 1));

  const Json text = post_json(kCompletions, {{"prompt", "xy"}, {"max_tokens", 2}, {"logprobs", 1}});
  const Json& logprobs = text["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"], Json::array({"c", "d"}));
  EXPECT_EQ(logprobs["text_offset"], Json::array({0, 1}));
  EXPECT_EQ(logprobs["top_logprobs"][0].size(), 1U);
  EXPECT_LT(logprobs["token_logprobs"][1], 0);
}

TEST_F(ServerTest, StreamsALogProbabilityForEachToken) {
  Json tokens = Json::array();
  for (const Json& chunk : post_stream(
           kChat, {{"messages", kHi}, {"max_tokens", 4}, {"logprobs", true}, {"stop", "zzz"}}))
    if (!chunk["choices"][0]["logprobs"].is_null())
      for (const Json& entry : chunk["choices"][0]["logprobs"]["content"])
        tokens.push_back(entry["token"]);
  EXPECT_EQ(tokens, Json::array({"i", "j", "k", "l"}));
}

TEST_F(ServerTest, EchoesThePromptWithItsLogProbabilities) {
  const Json answer = post_json(
      kCompletions, {{"prompt", "aé"}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 1}});
  const Json& choice = answer["choices"][0];
  EXPECT_EQ(choice["text"], "aé");
  EXPECT_EQ(choice["finish_reason"], "length");
  ASSERT_EQ(choice["logprobs"]["tokens"].size(), 3U);
  EXPECT_TRUE(choice["logprobs"]["token_logprobs"][0].is_null());
  EXPECT_LT(choice["logprobs"]["token_logprobs"][1], 0);
  // The model says "b" after "a".
  EXPECT_TRUE(choice["logprobs"]["top_logprobs"][1].contains("b"));
  EXPECT_EQ(choice["logprobs"]["text_offset"], Json::array({0, 1, 2}));
  std::string text;
  for (const Json& chunk :
       post_stream(kCompletions, {{"prompt", {120, 121}}, {"max_tokens", 2}, {"echo", true}}))
    text += chunk["choices"][0]["text"].get<std::string>();
  EXPECT_EQ(text, "xycd");
}

TEST_F(ServerTest, SamplesTheSameTextFromTheSameSeed) {
  const auto text = [&](std::int64_t seed, int choice) {
    return post_json(kCompletions,
                     {{"prompt", "x"},
                      {"max_tokens", 8},
                      {"temperature", 2},
                      {"logit_bias", {{"98", -100}}},
                      {"presence_penalty", 1},
                      {"n", 2},
                      {"seed", seed}})["choices"][static_cast<std::size_t>(choice)]["text"]
        .get<std::string>();
  };
  EXPECT_EQ(text(7, 0), text(7, 0));
  EXPECT_NE(text(7, 0), text(8, 0));
  // The choices of one request differ, by counting the seed up.
  EXPECT_EQ(text(7, 1), text(8, 0));
}

TEST_F(ServerTest, IgnoresFieldsThatItDoesNotKnow) {
  const Json answer = post_json(kChat, {{"messages", kHi},
                                        {"max_tokens", 1},
                                        {"user", "me"},
                                        {"metadata", {{"a", 1}}},
                                        {"response_format", {{"type", "text"}}},
                                        {"tools", Json::array()},
                                        {"stop", nullptr},
                                        {"temperature", nullptr},
                                        {"nonsense", {1, 2}}});
  EXPECT_EQ(answer["usage"]["completion_tokens"], 1);
}

// The fields of OpenAI, vLLM and llama.cpp that say what an answer has to be.
TEST_F(ServerTest, GivesAnswersOfTheFormThatIsAskedFor) {
  const Json schema = {{"type", "object"},
                       {"properties", {{"city", {{"enum", {"Paris", "Rome"}}}}}},
                       {"required", {"city"}}};
  const std::vector<Json> fields = {
      {{"response_format",
        {{"type", "json_schema"},
         {"json_schema", {{"name", "place"}, {"schema", schema}, {"strict", true}}}}}},
      {{"structured_outputs", {{"json", schema}}}},
      {{"guided_json", schema}},
      {{"json_schema", schema}}};
  for (Json body : fields) {
    body["messages"] = kHi;
    const Json answer = post_json(kChat, body);
    const auto text = answer["choices"][0]["message"]["content"].get<std::string>();
    const Json place = json_of(text);
    EXPECT_EQ(place.size(), 1u) << text;
    EXPECT_TRUE(place["city"] == "Paris" || place["city"] == "Rome") << text;
    EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  }
  const Json choice = post_json(
      kCompletions, {{"prompt", "x"}, {"guided_choice", {"left", "right"}}, {"max_tokens", 9}});
  const auto text = choice["choices"][0]["text"].get<std::string>();
  EXPECT_TRUE(text == "left" || text == "right") << text;
  const Json digits =
      post_json(kCompletions, {{"prompt", "x"}, {"guided_regex", "[0-9]{3}"}, {"max_tokens", 9}});
  EXPECT_EQ(digits["choices"][0]["text"].get<std::string>().size(), 3u);
  const Json object = post_json(
      kChat,
      {{"messages", kHi}, {"response_format", {{"type", "json_object"}}}, {"max_tokens", 5}});
  EXPECT_TRUE(object["choices"][0]["message"]["content"].get<std::string>().starts_with("{"));
}

TEST_F(ServerTest, NamesTheFieldOfASchemaThatCannotBeFollowed) {
  const Json schema = {{"type", "object"}, {"not", Json::object()}};
  const std::vector<std::pair<Json, const char*>> fields = {
      {{{"response_format", {{"type", "json_schema"}, {"json_schema", {{"schema", schema}}}}}},
       "response_format.json_schema.schema#/not"},
      {{{"response_format", {{"type", "json_object"}, {"schema", schema}}}},
       "response_format.schema#/not"},
      {{{"structured_outputs", {{"json", schema}}}}, "structured_outputs.json#/not"},
      {{{"guided_json", schema}}, "guided_json#/not"}};
  for (const auto& [field, param] : fields) {
    for (const char* path : {kChat, kCompletions}) {
      Json body = field;
      if (path == kChat)
        body["messages"] = kHi;
      else
        body["prompt"] = "x";
      testing::expect_api_error(
          testing::fetch(server_.port(), testing::post_text(path, dump_json(body))), 400, param,
          "unsupported_value");
    }
  }
}

// Clients of llama.cpp say so that they want no limit.
TEST_F(ServerTest, TakesMinusOneForNoLimit) {
  const auto count = [&](const char* path, Json body) {
    body["max_tokens"] = -1;
    return post_json(path, body)["usage"]["total_tokens"].get<std::int64_t>();
  };
  EXPECT_EQ(count(kChat, {{"messages", kHi}}), testing::kTestContext + 1);
  EXPECT_EQ(count(kCompletions, {{"prompt", "x"}}), testing::kTestContext + 1)
      << "not the 16 tokens of requests that say nothing";
  EXPECT_EQ(count(kChat, {{"messages", kHi}, {"truncation", "sliding"}}),
            testing::kTestContext + 1);
}

TEST_F(ServerTest, TakesRequestsInAnyPieces) {
  const std::string request = post_text(kCompletions, R"({"prompt": "xyz", "max_tokens": 2})");
  HttpClient client(server_.port());
  for (const char byte : request) ASSERT_TRUE(client.send({&byte, 1}));
  EXPECT_EQ(json_of(client.receive().body)["choices"][0]["text"], letters(3, 2));
  // The request comes again in chunks, with an extension and a trailer, on the same connection.
  ASSERT_TRUE(
      client.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n"
                  "9;x=y\r\n{\"prompt\"\r\n"));
  ASSERT_TRUE(client.send("17\r\n: \"xyz\",\"max_tokens\":2}\r\n0\r\nX-Api-Key: z\r\n\r\n"));
  EXPECT_EQ(json_of(client.receive().body)["choices"][0]["text"], letters(3, 2));
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  std::string all;
  for (int i = 1; i <= 5; ++i)
    all += post_text(kCompletions, fmt::format(R"({{"prompt": "{}", "max_tokens": 3}})",
                                               std::string(static_cast<std::size_t>(i), 'x')));
  all += get_text("/nowhere") + get_text("/health", "Connection: close\r\n");
  HttpClient client(server_.port());
  ASSERT_TRUE(client.send(all));
  for (int i = 1; i <= 5; ++i)
    EXPECT_EQ(json_of(client.receive().body)["choices"][0]["text"], letters(i, 3));
  EXPECT_EQ(client.receive().status, 404);
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(ServerTest, AsksForTheBodyThatWaitsForIt) {
  const std::string request =
      post_text(kCompletions, R"({"prompt": "x", "max_tokens": 1})", "Expect: 100-continue\r\n");
  const std::size_t body = request.find("\r\n\r\n") + 4;
  HttpClient client(server_.port());
  ASSERT_TRUE(client.send(request.substr(0, body)));
  EXPECT_EQ(client.receive().status, 100);
  ASSERT_TRUE(client.send(request.substr(body)));
  EXPECT_EQ(client.receive().status, 200);
}

TEST(ServerDefaults, FillWhatTheRequestLeavesOut) {
  OpenAiServerOptions options;
  options.defaults = {.max_tokens = 3, .temperature = 2.0, .seed = 5};
  TestServer server(options);
  const auto text = [&](const std::string& more) {
    const Answer answer =
        fetch(server.port(), post_text(kCompletions, R"({"prompt": "x")" + more + "}"));
    return json_of(answer.body)["choices"][0]["text"].get<std::string>();
  };
  EXPECT_EQ(text(R"(, "max_tokens": 9, "temperature": 0)"), "bcd") << "at most 3";
  EXPECT_EQ(text(""), text(R"(, "seed": 5, "temperature": 2)"));
  EXPECT_NE(text(""), text(R"(, "seed": 6)"));
}

}  // namespace
}  // namespace anemone::serve
