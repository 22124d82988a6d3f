// SPDX-License-Identifier: Apache-2.0
// The table of routes, the answers while models are loaded, and the log of requests.
#include "serve/openai/route.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <set>
#include <unistd.h>

#include "serve/request_log.h"
#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using openai::find_route;
using openai::Route;
using testing::Answer;
using testing::fetch;
using testing::get_text;
using testing::json_of;
using testing::post_text;
using testing::TestServer;

TEST(Routes, HaveAHandlerASummaryAndAPathOfTheirOwn) {
  std::set<std::string> seen;
  for (const Route& route : openai::routes()) {
    SCOPED_TRACE(route.path);
    EXPECT_NE(route.get == nullptr, route.post == nullptr);
    EXPECT_FALSE(route.summary.empty());
    EXPECT_TRUE(seen.insert(fmt::format("{} {}", route.post != nullptr, route.path)).second);
    EXPECT_EQ(route.required.empty(), route.post == nullptr);
  }
}

TEST(Routes, AreFoundByPathAndMethod) {
  const auto path_of = [](std::string_view path, std::string_view method) {
    const auto match = find_route(path, method);
    return match.route == nullptr ? std::string() : std::string(match.route->path);
  };
  EXPECT_EQ(path_of("/v1/models", "GET"), "/models");
  EXPECT_EQ(path_of("/models", "HEAD"), "/models");
  EXPECT_EQ(path_of("/v1/models/a/b", "GET"), "/models/{model}");
  EXPECT_EQ(find_route("/v1/models/a/b", "GET").parameter, "a/b");
  EXPECT_EQ(path_of("/models/", "GET"), "") << "no name";
  EXPECT_EQ(path_of("/v1", "GET"), "");
  EXPECT_EQ(path_of("/v1/v1/models", "GET"), "");
  EXPECT_EQ(path_of("/v1/models", "POST"), "");
  EXPECT_EQ(find_route("/v1/models", "POST").methods, "GET, HEAD, OPTIONS");
  EXPECT_EQ(find_route("/v1/chat/completions", "GET").methods, "POST, OPTIONS");
  EXPECT_EQ(find_route("/nowhere", "GET").methods, "");
  EXPECT_TRUE(find_route("/health", "GET").is_public);
  EXPECT_FALSE(find_route("/v1/models", "GET").is_public);
}

TEST(Routes, RefuseOtherMethodsAndSayWhichTheyHave) {
  TestServer server;
  for (const Route& route : openai::routes()) {
    SCOPED_TRACE(route.path);
    const std::string path = std::string(route.path.substr(0, route.path.find('{'))) +
                             (route.path.ends_with('}') ? "tiny" : "");
    const Answer answer = fetch(
        server.port(), fmt::format("{} /v1{} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
                                   "Connection: close\r\n\r\n",
                                   route.post != nullptr ? "GET" : "POST", path));
    testing::expect_api_error(answer, 405, nullptr, "method_not_allowed");
    EXPECT_EQ(answer.header("Allow"), find_route(path, "").methods);
  }
}

TEST(LoadingServer, SaysThatItIsLoading) {
  OpenAiServerOptions options;
  options.http.port = 0;
  options.api_keys = {{"secret"}};
  const std::string key = "X-Api-Key: secret\r\n";
  const auto server = OpenAiServer::listen(options);
  ASSERT_TRUE(server.ok()) << server.status().message();
  const auto port = (*server)->port();
  const Answer health = fetch(port, get_text("/health"));
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(json_of(health.body)["status"], "loading");
  const std::string body = R"({"prompt": "x", "max_tokens": 1})";
  testing::expect_api_error(fetch(port, post_text("/v1/completions", body)), 401);
  const Answer early = fetch(port, post_text("/v1/completions", body, key));
  testing::expect_api_error(early, 503, nullptr, "loading");
  EXPECT_EQ(early.header("Retry-After"), "1");
  testing::expect_api_error(fetch(port, get_text("/v1/models", key)), 503, nullptr, "loading");
  EXPECT_EQ((*server)->counts().finished, 0U);

  engine::testing::ScriptOptions script;
  const engine::testing::ScriptedModel model(script);
  (*server)->serve(testing::given_model({"tiny"}, model.model()), {});
  EXPECT_EQ(json_of(fetch(port, get_text("/health")).body)["status"], "ok");
  EXPECT_EQ(fetch(port, post_text("/v1/completions", body, key)).status, 200);
}

TEST(ServedModelName, IsAnyOneUnlessItIsStrict) {
  TestServer server;
  const auto ask = [&](const std::string& model) {
    return fetch(server.port(),
                 post_text("/v1/completions",
                           dump_json({{"model", model}, {"prompt", "x"}, {"max_tokens", 1}})));
  };
  EXPECT_EQ(json_of(ask("gpt-4o").body)["model"], "tiny") << "the one that answered";
  EXPECT_EQ(json_of(ask("other/name").body)["model"], "other/name");
  testing::expect_api_error(fetch(server.port(), get_text("/v1/models/gpt-4o")), 404);
}

TEST(ServerKeys, AreAsGoodAsEachOther) {
  OpenAiServerOptions options;
  options.api_keys = {{"first"}, {"second"}};
  TestServer server(options);
  const auto status = [&](const std::string& key) {
    return fetch(server.port(), get_text("/v1/models", "X-Api-Key: " + key + "\r\n")).status;
  };
  EXPECT_EQ(status("first"), 200);
  EXPECT_EQ(status("second"), 200);
  EXPECT_EQ(status("firstsecond"), 401);
  EXPECT_EQ(status("third"), 401);
}

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
