// SPDX-License-Identifier: Apache-2.0
// Every request that is wrong gets the right status and an error object with all four members, and
// the server goes on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using namespace std::string_literals;
using testing::expect_api_error;
using testing::fetch;
using testing::get_text;
using testing::post_text;
using testing::TestServer;

struct BadBody {
  const char* body;
  const char* param = nullptr;  // nullptr: any; "": null
  int status = 400;
  const char* code = nullptr;
};

void expect_all_refused(std::string_view path, const std::vector<BadBody>& cases) {
  OpenAiServerOptions options;
  options.is_strict_model = true;
  TestServer server(options);
  for (const BadBody& bad : cases) {
    SCOPED_TRACE(bad.body);
    const auto answer = fetch(server.port(), post_text(path, bad.body));
    expect_api_error(answer, bad.status, nullptr, bad.code);
    if (bad.param == nullptr) continue;
    const Json param = testing::json_of(answer.body)["error"]["param"];
    if (*bad.param == '\0')
      EXPECT_TRUE(param.is_null()) << param;
    else
      EXPECT_EQ(param, bad.param);
  }
  EXPECT_EQ(server.server().counts().finished, 0U) << "none of them reached the model";
  EXPECT_EQ(fetch(server.port(), get_text("/health")).status, 200);
}

// A chat with one more member.
#define CHAT(member) R"({"messages": [{"role": "user", "content": "hi"}], )" member "}"
#define TEXT(member) R"({"prompt": "x", )" member "}"

TEST(BadBody, OfAChatIsRefusedWithItsField) {
  expect_all_refused(
      "/v1/chat/completions",
      {{"", ""},
       {"{", ""},
       {"nonsense", ""},
       {"[]", ""},
       {"null", ""},
       {"\"text\"", ""},
       {"{} {}", ""},
       {"{\"messages\": [}", ""},
       {"{\"a\": \"\xff\xfe\"}", ""},
       {"{\"a\": \"\\ud800\"}", ""},
       {"{\"a\": 1e999}", ""},
       {"{'messages': []}", ""},
       {R"({"model": "tiny", "model": "tiny"})", ""},
       {"{}", "messages"},
       {R"({"messages": []})", "messages"},
       {R"({"messages": {}})", "messages"},
       {R"({"messages": "hi"})", "messages"},
       {R"({"messages": [1]})", "messages[0]"},
       {R"({"messages": [{}]})", "messages[0].role"},
       {R"({"messages": [{"role": "king", "content": "x"}]})", "messages[0].role"},
       {R"({"messages": [{"role": 1, "content": "x"}]})", "messages[0].role"},
       {R"({"messages": [{"role": "user"}]})", "messages[0].content"},
       {R"({"messages": [{"role": "user", "content": null}]})", "messages[0].content"},
       {R"({"messages": [{"role": "user", "content": 5}]})", "messages[0].content"},
       {R"({"messages": [{"role": "user", "content": ["x"]}]})", "messages[0].content[0]"},
       {R"({"messages": [{"role": "user", "content": [{"type": "text"}]}]})",
        "messages[0].content[0]"},
       {R"({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]})",
        "messages[0].content[0]", 400, "unsupported_value"},
       {R"({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]})",
        "messages[0].content[0]"},
       {R"({"messages": [{"role": "assistant", "tool_calls": 1}]})", "messages[0].tool_calls"},
       {R"({"messages": [{"role": "assistant", "tool_calls": [{}]}]})",
        "messages[0].tool_calls[0]"},
       {CHAT(R"("model": "gpt")"), "model", 404, "model_not_found"},
       {CHAT(R"("model": 5)"), "model"},
       {CHAT(R"("model": "")"), "model"},
       {CHAT(R"("keep_alive": "soon")"), "keep_alive"},
       {CHAT(R"("keep_alive": "")"), "keep_alive"},
       {CHAT(R"("keep_alive": "-soon")"), "keep_alive"},
       {CHAT(R"("keep_alive": true)"), "keep_alive"},
       {CHAT(R"("keep_alive": 31536001)"), "keep_alive"},
       {CHAT(R"("keep_alive": "8761h")"), "keep_alive"},
       {CHAT(R"("temperature": -0.1)"), "temperature"},
       {CHAT(R"("temperature": 2.1)"), "temperature"},
       {CHAT(R"("temperature": "hot")"), "temperature"},
       {CHAT(R"("temperature": 1e308)"), "temperature"},
       {CHAT(R"("top_p": 1.5)"), "top_p"},
       {CHAT(R"("top_p": -1)"), "top_p"},
       {CHAT(R"("top_p": [])"), "top_p"},
       {CHAT(R"("min_p": 2)"), "min_p"},
       {CHAT(R"("top_k": -2)"), "top_k"},
       {CHAT(R"("top_k": 1.5)"), "top_k"},
       {CHAT(R"("presence_penalty": 3)"), "presence_penalty"},
       {CHAT(R"("frequency_penalty": -3)"), "frequency_penalty"},
       {CHAT(R"("repetition_penalty": 0)"), "repetition_penalty"},
       {CHAT(R"("repeat_penalty": -1)"), "repeat_penalty"},
       {CHAT(R"("seed": 1.5)"), "seed"},
       {CHAT(R"("seed": 99999999999999999999)"), "seed"},
       {CHAT(R"("seed": 18446744073709551615)"), "seed"},
       {CHAT(R"("max_tokens": 0)"), "max_tokens"},
       {CHAT(R"("max_tokens": -5)"), "max_tokens"},
       {CHAT(R"("max_tokens": "10")"), "max_tokens"},
       {CHAT(R"("max_completion_tokens": 0)"), "max_completion_tokens"},
       {CHAT(R"("n": 0)"), "n"},
       {CHAT(R"("n": -1)"), "n"},
       {CHAT(R"("n": 17)"), "n"},
       {CHAT(R"("n": 1000000000)"), "n"},
       {CHAT(R"("n": true)"), "n"},
       {CHAT(R"("stop": 5)"), "stop"},
       {CHAT(R"("stop": [1])"), "stop"},
       {CHAT(R"("stop": "")"), "stop"},
       {CHAT(R"("stop": ["a", "b", "c", "d", "e"])"), "stop"},
       {CHAT(R"("stream": 1)"), "stream"},
       {CHAT(R"("stream": "yes")"), "stream"},
       {CHAT(R"("stream_options": {"include_usage": true})"), "stream_options"},
       {CHAT(R"("stream": true, "stream_options": 1)"), "stream_options"},
       {CHAT(R"("stream": true, "stream_options": {"include_usage": 1})"),
        "stream_options.include_usage"},
       {CHAT(R"("logprobs": 2)"), "logprobs"},
       {CHAT(R"("top_logprobs": 2)"), "top_logprobs"},
       {CHAT(R"("logprobs": true, "top_logprobs": 21)"), "top_logprobs"},
       {CHAT(R"("logprobs": true, "top_logprobs": -1)"), "top_logprobs"},
       {CHAT(R"("logit_bias": [1])"), "logit_bias"},
       {CHAT(R"("logit_bias": {"x": 1})"), "logit_bias"},
       {CHAT(R"("logit_bias": {"": 1})"), "logit_bias"},
       {CHAT(R"("logit_bias": {"-1": 1})"), "logit_bias"},
       {CHAT(R"("logit_bias": {"1": 101})"), "logit_bias"},
       {CHAT(R"("logit_bias": {"1": "x"})"), "logit_bias"},
       {CHAT(R"("logit_bias": {"99999": 1})"), "logit_bias"},
       {CHAT(R"("response_format": {"type": "xml"})"), "response_format", 400, "unsupported_value"},
       {CHAT(R"("response_format": {"type": "json_schema", "json_schema": {}})"),
        "response_format.json_schema"},
       {CHAT(R"("response_format": {"type": "json_schema", "json_schema": {"schema": 1}})"),
        "response_format.json_schema.schema"},
       {CHAT(
            R"("response_format": {"type": "json_schema", "json_schema": {"schema": {"not": {}}}})"),
        "response_format.json_schema.schema#/not", 400, "unsupported_value"},
       {CHAT(R"("structured_outputs": 1)"), "structured_outputs"},
       {CHAT(R"("structured_outputs": {"choice": []})"), "structured_outputs.choice"},
       {CHAT(R"("guided_regex": "(a")"), "regex"},
       {CHAT(R"("guided_regex": "a", "guided_choice": ["a"])"), "guided_choice"},
       {CHAT(R"("response_format": "text")"), "response_format"},
       {CHAT(R"("tools": {})"), "tools"},
       {CHAT(R"("tools": [{}])"), "tools[0]"},
       {CHAT(R"("tools": [1])"), "tools[0]"},
       {CHAT(R"("tools": [{"type": "web_search"}])"), "tools[0].type", 400, "unsupported_value"},
       {CHAT(R"("tools": [{"function": {"name": "a b"}}])"), "tools[0].function.name"},
       {CHAT(R"("tools": [{"function": {"name": "f"}}, {"function": {"name": "f"}}])"),
        "tools[1].function.name"},
       {CHAT(R"("tools": [{"function": {"name": "f", "parameters": []}}])"),
        "tools[0].function.parameters"},
       {CHAT(R"("tools": [{"function": {"name": "f", "parameters": {"type": "string"}}}])"),
        "tools[0].function.parameters"},
       {CHAT(R"("tools": [{"function": {"name": "f", "strict": 1}}])"), "tools[0].function.strict"},
       {CHAT(R"("tool_choice": "required")"), "tool_choice"},
       {CHAT(R"("tool_choice": "any")"), "tool_choice"},
       {CHAT(R"("tool_choice": {"type": "function", "function": {"name": "f"}})"), "tool_choice"},
       {CHAT(R"("tools": [{"function": {"name": "f"}}],
                "tool_choice": {"type": "function", "function": {"name": "g"}})"),
        "tool_choice"},
       {CHAT(R"("tools": [{"function": {"name": "f"}}], "tool_choice": {"type": "function"})"),
        "tool_choice"},
       {CHAT(R"("tools": [{"function": {"name": "f"}}],
                "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto"}})"),
        "tool_choice.allowed_tools"},
       // The template says nothing of how calls are written.
       {CHAT(R"("tools": [{"function": {"name": "f"}}], "tool_choice": "required")"), "tool_choice",
        400, "unsupported_value"},
       {CHAT(R"("parallel_tool_calls": 1)"), "parallel_tool_calls"},
       {CHAT(R"("reasoning_effort": "huge")"), "reasoning_effort"},
       {CHAT(R"("enable_thinking": "no")"), "enable_thinking"},
       {CHAT(R"("functions": [{"parameters": {}}])"), "functions[0]"},
       {CHAT(R"("function_call": "perhaps")"), "function_call"},
       {CHAT(R"("grammar": "root ::= x")"), "grammar"},
       {CHAT(R"("modalities": ["audio"])"), "modalities"},
       {CHAT(R"("chat_template_kwargs": 1)"), "chat_template_kwargs"}});
}

TEST(BadBody, OfACompletionIsRefusedWithItsField) {
  expect_all_refused("/v1/completions",
                     {{"{}", "prompt"},
                      {R"({"prompt": null})", "prompt"},
                      {R"({"prompt": ""})", "prompt"},
                      {R"({"prompt": []})", "prompt"},
                      {R"({"prompt": {}})", "prompt"},
                      {R"({"prompt": 5})", "prompt"},
                      {R"({"prompt": [1, "a"]})", "prompt"},
                      {R"({"prompt": ["a", 1]})", "prompt"},
                      {R"({"prompt": ["a", ""]})", "prompt"},
                      {R"({"prompt": [[]]})", "prompt"},
                      {R"({"prompt": [[1], ["a"]]})", "prompt"},
                      {R"({"prompt": [1.5]})", "prompt"},
                      {R"({"prompt": [-1]})", "prompt"},
                      {R"({"prompt": [264]})", "prompt"},
                      {R"({"prompt": [4294967296]})", "prompt"},
                      {R"({"prompt": [18446744073709551615]})", "prompt"},
                      {TEXT(R"("max_tokens": -2)"), "max_tokens"},
                      {TEXT(R"("max_tokens": -1.5)"), "max_tokens"},
                      {TEXT(R"("logprobs": true)"), "logprobs"},
                      {TEXT(R"("logprobs": 21)"), "logprobs"},
                      {TEXT(R"("echo": 1)"), "echo"},
                      {TEXT(R"("suffix": "x")"), "suffix"},
                      {TEXT(R"("best_of": 2)"), "best_of"},
                      {TEXT(R"("best_of": 99)"), "best_of"},
                      {TEXT(R"("keep_alive": [])"), "keep_alive"},
                      {TEXT(R"("model": "x")"), "model", 404, "model_not_found"}});
}

TEST(BadBody, ThatIsDeepOrLongIsRefused) {
  TestServer server;
  const auto refused = [&](const std::string& body) {
    expect_api_error(fetch(server.port(), post_text("/v1/chat/completions", body)), 400);
  };
  refused(std::string(100'000, '['));
  refused(R"({"messages": )" + std::string(5'000, '[') + std::string(5'000, ']') + "}");
  std::string objects;
  for (int i = 0; i < 1000; ++i) objects += "{\"a\":";
  refused(objects);
  const auto texts = [](int count, const std::string& more) {
    std::string list = "[\"x\"";
    for (int i = 1; i < count; ++i) list += ",\"x\"";
    return post_text("/v1/completions", "{\"prompt\": " + list + "]" + more + "}");
  };
  expect_api_error(fetch(server.port(), texts(65, "")), 400, "prompt");
  expect_api_error(fetch(server.port(), texts(60, ", \"n\": 3")), 400, "n");
}

TEST(BadHttp, IsRefusedAndTheConnectionClosed) {
  TestServer server;
  const std::string post = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n";
  const std::vector<std::string> requests = {
      "nonsense\r\n\r\n",
      "GET\r\n\r\n",
      "GET /health\r\n\r\n",
      "GET /health HTTP/0.9\r\n\r\n",
      "GET /health HTTP/2.0\r\nHost: a\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "GET /health HTTP/1.1\r\n\r\n",
      "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
      "GET  /health HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /hea lth HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /health HTTP/1.1\r\nHost : a\r\n\r\n",
      "GET /health HTTP/1.1\r\nno colon\r\n\r\n",
      "GET /health HTTP/1.1\r\n: empty\r\n\r\n",
      "GET /health HTTP/1.1\r\nHost: a\0b\r\n\r\n"s,
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 tls hello"s,
      post + "Content-Length: -1\r\n\r\n",
      post + "Content-Length: +5\r\n\r\n",
      post + "Content-Length: 0x5\r\n\r\n",
      post + "Content-Length: 5 5\r\n\r\n",
      post + "Content-Length: 99999999999999999999999\r\n\r\n",
      post + "Content-Length: 2, 2\r\n\r\n{}",
      post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
      post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
      post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: identity\r\n\r\n",
      "POST /v1/completions HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n" + std::string(40'000, '1'),
  };
  for (const std::string& request : requests) {
    SCOPED_TRACE(request.substr(0, 120));
    testing::HttpClient client(server.port());
    ASSERT_TRUE(client.send(request));
    const auto answer = client.receive();
    expect_api_error(answer, 400);
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(client.is_closed_by_server());
  }
  // A chunk of that size is too much of a body.
  expect_api_error(
      fetch(server.port(), post + "Transfer-Encoding: chunked\r\n\r\nffffffffffff\r\n{}\r\n"), 413);
  EXPECT_EQ(fetch(server.port(), get_text("/health")).status, 200);
}

TEST(BadHttp, WrongPathsAndMethodsAreNamed) {
  TestServer server;
  const auto send = [&](const std::string& method, const std::string& path) {
    return fetch(server.port(),
                 fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n\r\n", method, path));
  };
  for (const char* path :
       {"/", "/v1", "/v1/", "/v1/chat", "/v1/chat/completions/", "/v2/models", "/v1/models/",
        "/v1/embedding", "/V1/models", "//v1/models", "/v1/../v1/models", "*",
        "http://localhost/v1/models", "/%76%31/models", "/health/x"})
    expect_api_error(send("GET", path), 404, nullptr, "unknown_url");
  EXPECT_NE(send("GET", "/v1/responses").body.find("GET /openapi.json lists all"),
            std::string::npos);
  expect_api_error(send("GET", "/v1/models/nothing"), 404, "model", "model_not_found");
  expect_api_error(send("GET", "/v1/models/%zz"), 400);
  expect_api_error(send("GET", "/v1/models/%4"), 400);
  for (const char* method : {"GET", "PUT", "DELETE", "PATCH", "BREW", "TRACE", "get"}) {
    const auto answer = send(method, "/v1/chat/completions");
    expect_api_error(answer, 405, nullptr, "method_not_allowed");
    EXPECT_EQ(answer.header("Allow"), "POST, OPTIONS");
  }
  const auto answer = send("POST", "/v1/models");
  expect_api_error(answer, 405);
  EXPECT_EQ(answer.header("Allow"), "GET, HEAD, OPTIONS");
}

TEST(BadHttp, OtherTypesAndCodingsAreRefused) {
  TestServer server;
  const std::string body = R"({"prompt": "x", "max_tokens": 1})";
  const auto send = [&](const std::string& headers) {
    return fetch(server.port(),
                 fmt::format("POST /v1/completions HTTP/1.1\r\nHost: a\r\nHost-: x\r\n"
                             "Content-Length: {}\r\n{}\r\n{}",
                             body.size(), headers, body));
  };
  // Only names of this machine are accepted there.
  expect_api_error(send(""), 403);
  const auto good = [&](const std::string& headers) {
    return fetch(server.port(), fmt::format("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
                                            "Content-Length: {}\r\n{}\r\n{}",
                                            body.size(), headers, body));
  };
  EXPECT_EQ(good("").status, 200);
  EXPECT_EQ(good("Content-Type: Application/JSON; charset=utf-8\r\n").status, 200);
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                           "application/jsonx", ""})
    expect_api_error(good(fmt::format("Content-Type: {}\r\n", type)), 415, nullptr,
                     "unsupported_media_type");
  const std::string got = good("Content-Type: text/plain\r\n").body;
  EXPECT_NE(got.find("got text/plain (curl: -H"), std::string::npos) << got;
  expect_api_error(good("Content-Encoding: gzip\r\n"), 415);
}

}  // namespace
}  // namespace anemone::serve
