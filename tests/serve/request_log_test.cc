// SPDX-License-Identifier: Apache-2.0
// The log of a server: the lines of requests, of models and of itself.
#include "serve/request_log.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using testing::Answer;
using testing::fetch;
using testing::get_text;
using testing::json_of;
using testing::post_text;
using testing::TestServer;

TEST(LogLine, HoldsWhatIsKnown) {
  LogEntry entry;
  entry.method = "POST";
  entry.path = "/v1/\n";
  entry.id = "req_1";
  entry.status = 200;
  entry.seconds = 1.25;
  // 2026-01-31, noon.
  constexpr std::int64_t kTime = 1769860800250;
  EXPECT_EQ(log_line_of(entry, LogFormat::kText, kTime),
            "2026-01-31T12:00:00.250Z POST /v1/\\n 200 1.250 s, req_1\n");
  entry.notes = {"tiny", 20, 12, 34};
  EXPECT_EQ(log_line_of(entry, LogFormat::kText, kTime),
            "2026-01-31T12:00:00.250Z POST /v1/\\n 200 1.250 s, 20 + 34 tokens (12 cached), tiny, "
            "req_1\n");
  LogEntry refused = entry;
  refused.notes = {};
  refused.status = 400;
  refused.error_code = "context_length_exceeded";
  refused.error_param = "messages";
  EXPECT_EQ(log_line_of(refused, LogFormat::kText, kTime),
            "2026-01-31T12:00:00.250Z POST /v1/\\n 400 1.250 s, context_length_exceeded messages, "
            "req_1\n");
  refused.error_param = std::string(5'000, 'x');
  EXPECT_LT(log_line_of(refused, LogFormat::kText, kTime).size(), 500U);
  EXPECT_LT(log_line_of(refused, LogFormat::kJson, kTime).size(), 500U);
  const std::string line = log_line_of(entry, LogFormat::kJson, kTime);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const Json json = json_of(line);
  EXPECT_EQ(json["time"], "2026-01-31T12:00:00.250Z");
  EXPECT_EQ(json["path"], "/v1/\n");
  EXPECT_EQ(json["status"], 200);
  EXPECT_EQ(json["seconds"], 1.25);
  EXPECT_EQ(json["completion_tokens"], 34);
  EXPECT_FALSE(parse_log_format("xml").ok());
}

TEST(ServerEventLines, AreObjectsWithATime) {
  const Json more = {{"url", "http://a/v1\x1b"}, {"open_to_all", false}};
  const std::string line = log_line_of("serving", more, 1769860800250);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto json = parse_json(line, "line");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["time"], "2026-01-31T12:00:00.250Z");
  EXPECT_EQ((*json)["event"], "serving");
  EXPECT_EQ((*json)["url"], "http://a/v1\x1b");
  EXPECT_EQ((*json)["open_to_all"], false);
}

TEST(ModelEventLines, HoldWhatIsKnown) {
  ModelEvent event;
  event.model = "big\n";
  event.kind = ModelEvent::Kind::kLoaded;
  event.seconds = 1.25;
  event.bytes = 12'300'000;
  EXPECT_EQ(log_line_of(event, LogFormat::kText, 1769860800250),
            "2026-01-31T12:00:00.250Z loaded big\\n in 1.250 s, 12.3 MB\n");
  const auto json = parse_json(log_line_of(event, LogFormat::kJson, 0), "line");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["event"], "model_loaded");
  EXPECT_EQ((*json)["model"], "big\n");
  EXPECT_EQ((*json)["seconds"], 1.25);
  EXPECT_EQ((*json)["bytes"], 12'300'000);
  event.kind = ModelEvent::Kind::kFailed;
  event.error = std::string(100'000, 'x');
  EXPECT_LT(log_line_of(event, LogFormat::kText, 0).size(), 4096U);
  EXPECT_LT(log_line_of(event, LogFormat::kJson, 0).size(), 4096U);
}

class LoggedServer : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe(ends_), 0);
    OpenAiServerOptions options;
    options.log_format = LogFormat::kJson;
    options.log_descriptor = ends_[1];
    server_ = std::make_unique<TestServer>(options);
  }
  void TearDown() override {
    server_.reset();
    for (const int end : ends_) ::close(end);
  }
  // The line of the request that was answered last. It is written after the answer, so the next
  // request waits for it where the order of lines matters.
  Json next_line() {
    std::string line;
    pollfd ready{ends_[0], POLLIN, 0};
    constexpr int kPatienceMs = 60'000;
    for (char byte = 0; ::poll(&ready, 1, kPatienceMs) == 1 && ::read(ends_[0], &byte, 1) == 1;) {
      if (byte == '\n') return json_of(line);
      line += byte;
    }
    ADD_FAILURE() << "expected a line, got \"" << line << '"';
    return Json::object();
  }
  // Whether the server, which ends here, has written all of its lines to readers.
  bool wrote_no_more() {
    server_.reset();
    pollfd ready{ends_[0], POLLIN, 0};
    return ::poll(&ready, 1, 0) == 0;
  }

  int ends_[2] = {-1, -1};
  std::unique_ptr<TestServer> server_;
};

TEST_F(LoggedServer, WritesALinePerRequestWithoutItsText) {
  const auto port = server_->port();
  std::vector<Json> lines;
  const Answer good =
      fetch(port, post_text("/v1/completions", R"({"prompt": "secret", "max_tokens": 3, "n": 2})"));
  EXPECT_EQ(good.status, 200);
  lines.push_back(next_line());
  fetch(port, post_text("/v1/completions", R"({"prompt": "x", "max_tokens": 2, "stream": true})"));
  lines.push_back(next_line());
  fetch(port, post_text("/v1/completions", "{"));
  lines.push_back(next_line());
  fetch(port, get_text("/nowhere?token=secret"));
  lines.push_back(next_line());
  fetch(port, post_text("/v1/completions",
                        dump_json({{"prompt", std::string(testing::kTestContext + 1, 'x')}})));
  lines.push_back(next_line());
  fetch(port, get_text("/health"));
  EXPECT_TRUE(wrote_no_more()) << "none for /health";
  EXPECT_EQ(lines[0]["path"], "/v1/completions");
  EXPECT_EQ(lines[0]["id"], good.header("X-Request-Id"));
  EXPECT_EQ(lines[0]["model"], "tiny");
  EXPECT_EQ(lines[0]["prompt_tokens"], 6);
  EXPECT_EQ(lines[0]["completion_tokens"], 6);
  EXPECT_GT(lines[0]["seconds"].get<double>(), 0);
  EXPECT_EQ(lines[1]["completion_tokens"], 2);
  EXPECT_FALSE(lines[0].contains("code") || lines[0].contains("param"));
  EXPECT_EQ(lines[2]["status"], 400);
  EXPECT_EQ(lines[2]["code"], "invalid_request_error");
  EXPECT_EQ(lines[3]["status"], 404);
  EXPECT_EQ(lines[3]["code"], "unknown_url");
  EXPECT_EQ(lines[4]["code"], "context_length_exceeded");
  EXPECT_EQ(lines[4]["param"], "prompt");
  for (const Json& line : lines) EXPECT_EQ(dump_json(line).find("secret"), std::string::npos);
}

TEST_F(LoggedServer, SaysThatTheClientLeft) {
  server_->gate().close();
  {
    testing::HttpClient client(server_->port());
    ASSERT_TRUE(client.send(post_text("/v1/completions", R"({"prompt": "x", "max_tokens": 9})")));
    ASSERT_TRUE(server_->gate().wait_for_waiting(1));
    client.reset();
  }
  EXPECT_TRUE(server_->wait_for_counts([](const auto& counts) { return counts.cancelling == 1; }));
  server_->gate().open();
  EXPECT_TRUE(server_->wait_for_counts([](const auto& counts) { return counts.finished == 1; }));
  EXPECT_EQ(next_line()["status"], 499);
  EXPECT_TRUE(wrote_no_more());
}

}  // namespace
}  // namespace anemone::serve
