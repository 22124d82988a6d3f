// SPDX-License-Identifier: Apache-2.0
// The OpenAI API over real sockets: what happens when clients are many, slow or gone.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <list>
#include <thread>

#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::expect_api_error;
using testing::fetch;
using testing::get_text;
using testing::HttpClient;
using testing::post_text;
using testing::TestServer;
using Counts = engine::Engine::Counts;

std::string completion(int tokens, bool is_stream = false) {
  return post_text(
      "/v1/completions",
      fmt::format(R"({{"prompt": "x", "max_tokens": {}, "stream": {}}})", tokens, is_stream));
}

TEST(Disconnect, EndsARequestThatRuns) {
  TestServer server;
  server.gate().close();
  HttpClient client(server.port());
  ASSERT_TRUE(client.send(completion(300)));
  ASSERT_TRUE(server.gate().wait_for_waiting(1));
  client.close();
  // Nothing moves until the server has noticed; then the step in progress is the last one.
  ASSERT_TRUE(server.wait_for_counts([](const Counts& c) { return c.cancelling == 1; }));
  server.gate().permit(300);
  EXPECT_TRUE(server.wait_for_counts([](const Counts& c) { return c.running == 0; }));
  EXPECT_EQ(server.server().counts().cancelled, 1U);
  EXPECT_EQ(server.gate().passed(), 1);
}

TEST(Disconnect, EndsAStreamInTheMiddle) {
  TestServer server;
  server.gate().close();
  HttpClient client(server.port());
  ASSERT_TRUE(client.send(completion(300, true)));
  server.gate().permit(4);
  ASSERT_TRUE(client.wait_for("\"text\":\"b\""));
  // Between two steps, the server would end the text before anyone saw that it is cancelling it.
  ASSERT_TRUE(server.gate().wait_for_waiting(1));
  client.reset();
  ASSERT_TRUE(server.wait_for_counts([](const Counts& c) { return c.cancelling == 1; }));
  server.gate().permit(300);
  EXPECT_TRUE(server.wait_for_counts([](const Counts& c) { return c.running == 0; }));
  EXPECT_EQ(server.server().counts().cancelled, 1U);
  EXPECT_LE(server.gate().passed(), 5);
}

TEST(Disconnect, TakesARequestThatWaitsOutOfTheQueue) {
  TestServer server;
  server.gate().close();
  HttpClient running(server.port());
  ASSERT_TRUE(running.send(completion(2)));
  ASSERT_TRUE(server.gate().wait_for_waiting(1));
  {
    HttpClient waiting(server.port());
    ASSERT_TRUE(waiting.send(completion(2)));
    ASSERT_TRUE(server.wait_for_counts([](const Counts& c) { return c.waiting == 1; }));
  }
  // While the other still runs.
  ASSERT_TRUE(server.wait_for_counts([](const Counts& c) { return c.waiting == 0; }));
  EXPECT_EQ(server.server().counts().cancelled, 1U);
  EXPECT_EQ(server.server().counts().running, 1U);
  server.gate().open();
  EXPECT_EQ(running.receive().status, 200);
}

TEST(Queue, IsBoundedAndTellsWhenToComeBack) {
  OpenAiServerOptions options;
  options.engine.sequences = 2;
  options.engine.queue = 1;
  TestServer server(options);
  server.gate().close();
  std::list<HttpClient> clients;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(clients.emplace_back(server.port()).send(completion(2)));
    const std::size_t all = static_cast<std::size_t>(i) + 1;
    ASSERT_TRUE(
        server.wait_for_counts([&](const Counts& c) { return c.running + c.waiting == all; }));
  }
  ASSERT_TRUE(server.wait_for_counts([&](const Counts& c) { return c.running == 2; }));
  const Answer refused = fetch(server.port(), completion(2));
  expect_api_error(refused, 429, nullptr, "rate_limit_exceeded");
  EXPECT_NE(refused.header("Retry-After"), "");
  server.gate().open();
  for (HttpClient& client : clients) EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(fetch(server.port(), completion(2)).status, 200);
}

TEST(Stop, LetsRunningRequestsEnd) {
  TestServer server;
  server.gate().close();
  HttpClient idle(server.port());
  ASSERT_TRUE(idle.send(get_text("/health")));
  EXPECT_EQ(idle.receive().status, 200);
  HttpClient running(server.port());
  ASSERT_TRUE(running.send(completion(3)));
  ASSERT_TRUE(server.gate().wait_for_waiting(1));
  HttpClient waiting(server.port());
  ASSERT_TRUE(waiting.send(completion(3)));
  ASSERT_TRUE(server.wait_for_counts([](const Counts& c) { return c.waiting == 1; }));

  bool was_in_time = false;
  std::atomic<std::size_t> cut_off = 7;
  std::thread stopper([&] { was_in_time = server.server().stop(1min, &cut_off); });
  expect_api_error(waiting.receive(), 503, nullptr, "shutting_down");
  EXPECT_TRUE(idle.is_closed_by_server());
  server.gate().open();
  const Answer answer = running.receive();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("Connection"), "close");
  stopper.join();
  EXPECT_TRUE(was_in_time);
  EXPECT_EQ(cut_off, 0U);
  EXPECT_FALSE(HttpClient(server.port()).is_connected());
}

TEST(Stop, EndsWhatTakesTooLong) {
  TestServer server;
  server.gate().close();
  HttpClient whole(server.port());
  HttpClient stream(server.port());
  ASSERT_TRUE(stream.send(completion(300, true)));
  server.gate().permit(3);
  ASSERT_TRUE(stream.wait_for("\"text\":\"b\""));
  ASSERT_TRUE(server.gate().wait_for_waiting(1));
  std::thread steps([&] {
    EXPECT_TRUE(server.wait_for_counts([](const Counts& c) { return c.cancelling == 1; }));
    server.gate().permit(300);
  });
  std::atomic<std::size_t> cut_off = 0;
  EXPECT_FALSE(server.server().stop(0ms, &cut_off));
  EXPECT_EQ(cut_off, 1U);
  steps.join();
  const Answer answer = stream.receive();
  EXPECT_TRUE(answer.is_complete);
  const Json last = testing::json_of(testing::events_of(answer.body).back());
  EXPECT_EQ(last["error"]["code"], "shutting_down");
  EXPECT_EQ(last["error"].size(), 4U);
  EXPECT_LE(server.gate().passed(), 4);
}

TEST(Limits, HoldForBodiesAndHeaders) {
  OpenAiServerOptions options;
  options.http.limits = {.header_bytes = 2000, .header_fields = 20, .body_bytes = 1000};
  TestServer server(options);
  const std::string big(2000, 'x');
  expect_api_error(fetch(server.port(), post_text("/v1/completions", big)), 413, nullptr,
                   "request_too_large");
  // The refusal comes before any of the body.
  expect_api_error(fetch(server.port(),
                         "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
                         "Content-Length: 99999999999\r\n\r\n"),
                   413);
  std::string chunks =
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 40; ++i) chunks += "20\r\n" + std::string(32, ' ') + "\r\n";
  expect_api_error(fetch(server.port(), chunks), 413);
  expect_api_error(fetch(server.port(), get_text("/health", "X-Big: " + big + "\r\n")), 431);
  expect_api_error(fetch(server.port(), "GET /" + big + " HTTP/1.1\r\n"), 431);
  std::string many;
  for (int i = 0; i < 30; ++i) many += fmt::format("X-{}: 1\r\n", i);
  expect_api_error(fetch(server.port(), get_text("/health", many)), 431);
  // The pieces are each short enough.
  {
    HttpClient client(server.port());
    ASSERT_TRUE(client.send("GET /health HTTP/1.1\r\nHost: a\r\n"));
    // More than twice the limit: up to once is taken field by field, and once is looked through for
    // its end.
    for (int i = 0; i < 15; ++i) client.send(fmt::format("X-{}: {}\r\n", i, big.substr(1600)));
    expect_api_error(client.receive(), 431);
  }
}

TEST(Timeouts, EndSlowRequestsAndIdleConnections) {
  OpenAiServerOptions options;
  options.http.request_timeout = 100ms;
  options.http.idle_timeout = 100ms;
  TestServer server(options);
  HttpClient slow(server.port());
  ASSERT_TRUE(slow.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Le"));
  expect_api_error(slow.receive(), 408, nullptr, "request_timeout");
  EXPECT_TRUE(slow.is_closed_by_server());
  HttpClient slow_body(server.port());
  ASSERT_TRUE(slow_body.send(completion(2).substr(0, 100)));
  expect_api_error(slow_body.receive(), 408);
  EXPECT_TRUE(HttpClient(server.port()).is_closed_by_server());
  // An answer may take longer than that.
  server.gate().close();
  HttpClient patient(server.port());
  ASSERT_TRUE(patient.send(completion(2)));
  ASSERT_TRUE(server.gate().wait_for_waiting(1));
  std::this_thread::sleep_for(300ms);
  server.gate().open();
  EXPECT_EQ(patient.receive().status, 200);
}

TEST(Context, IsTheMostThatAPromptMayHave) {
  TestServer server;
  const auto prompt = [](std::int64_t tokens) {
    return post_text("/v1/completions",
                     fmt::format(R"({{"prompt": "{}", "max_tokens": 9}})",
                                 std::string(static_cast<std::size_t>(tokens), 'x')));
  };
  const Answer full = fetch(server.port(), prompt(testing::kTestContext));
  EXPECT_EQ(full.status, 200);
  const Json choice = testing::json_of(full.body)["choices"][0];
  EXPECT_EQ(choice["text"], testing::letters(testing::kTestContext, 1));
  EXPECT_EQ(choice["finish_reason"], "length");
  expect_api_error(fetch(server.port(), prompt(testing::kTestContext + 1)), 400, "prompt",
                   "context_length_exceeded");
}

TEST(Start, SaysWhatIsWrongWithAnAddress) {
  TestServer server;
  const auto start = [&](const std::string& host, std::uint16_t port) {
    OpenAiServerOptions options;
    options.http.host = host;
    options.http.port = port;
    const auto other =
        OpenAiServer::start(testing::given_model({"tiny"}, server.model().model()), options);
    return other.ok() ? Status() : other.status();
  };
  EXPECT_EQ(start("127.0.0.1", server.port()).code(), Code::kIo) << "in use";
  EXPECT_EQ(start("203.0.113.1", 0).code(), Code::kIo) << "not ours";
  EXPECT_EQ(start("no host", 0).code(), Code::kInvalidArgument);
  EXPECT_TRUE(start("localhost", 0).ok());
}

}  // namespace
}  // namespace anemone::serve
