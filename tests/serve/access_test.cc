// SPDX-License-Identifier: Apache-2.0
// Who may use the server: keys, pages of others, names of the host.
#include <atomic>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using testing::Answer;
using testing::fetch;
using testing::get_text;
using testing::HttpClient;
using testing::post_text;
using testing::TestServer;

constexpr const char* kCompletionsPath = "/v1/completions";

TEST(ServerKey, IsNeededForAllButHealth) {
  OpenAiServerOptions options;
  options.api_keys = {{"secret"}};
  TestServer server(options);
  const auto status = [&](const std::string& path, const std::string& headers) {
    return fetch(server.port(), get_text(path, headers)).status;
  };
  EXPECT_EQ(status("/health", ""), 200);
  EXPECT_EQ(status("/v1/models", "Authorization: Bearer secret\r\n"), 200);
  EXPECT_EQ(status("/v1/models", "authorization: bearer secret\r\n"), 200);
  EXPECT_EQ(status("/v1/models", "X-Api-Key: secret\r\n"), 200);
  const Answer none = fetch(server.port(), get_text("/v1/models"));
  testing::expect_api_error(none, 401, nullptr, "invalid_api_key");
  EXPECT_EQ(none.header("WWW-Authenticate"), "Bearer");
  for (const char* wrong : {"Bearer secre", "Bearer secrets", "Bearer ", "secret", "Basic secret",
                            "Bearer secretsecret", "Bearer"})
    EXPECT_EQ(status("/v1/models", fmt::format("Authorization: {}\r\n", wrong)), 401) << wrong;
  EXPECT_EQ(status("/nowhere", ""), 401) << "nothing is told to strangers";
}

TEST(ServerKey, MayBeAnotherOneLater) {
  std::atomic<bool> has_changed = false;
  OpenAiServerOptions options;
  options.api_keys = {{"old"}, {"kept"}};
  options.reread_keys = [&]() -> std::optional<std::vector<openai::ApiKey>> {
    if (!has_changed.exchange(false)) return std::nullopt;
    return std::vector<openai::ApiKey>{{"kept"}, {"new"}};
  };
  TestServer server(options);
  const auto status = [&](const std::string& key) {
    return fetch(server.port(), get_text("/v1/models", "X-Api-Key: " + key + "\r\n")).status;
  };
  EXPECT_EQ(status("old"), 200);
  EXPECT_EQ(status("new"), 401);
  has_changed = true;
  EXPECT_EQ(status("new"), 200);
  EXPECT_EQ(status("kept"), 200);
  EXPECT_EQ(status("old"), 401);
  EXPECT_EQ(status(""), 401);
}

TEST(ServerOrigin, IsCheckedAgainstPagesOfOthers) {
  OpenAiServerOptions options;
  options.cors_origins = {"https://chat.example"};
  TestServer server(options);
  const std::string body = R"({"prompt": "x", "max_tokens": 1})";
  const auto post = [&](const std::string& origin) {
    return fetch(server.port(), post_text(kCompletionsPath, body, "Origin: " + origin + "\r\n"));
  };
  const Answer good = post("https://chat.example");
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(good.header("Access-Control-Allow-Origin"), "https://chat.example");
  EXPECT_EQ(post("http://localhost").status, 200) << "its own pages";
  testing::expect_api_error(post("https://evil.example"), 403);
  const Answer preflight = fetch(
      server.port(),
      "OPTIONS /v1/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: https://chat.example\r\n"
      "Access-Control-Request-Headers: x-stainless-os, authorization\r\n\r\n");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.header("Access-Control-Allow-Headers"), "x-stainless-os, authorization");
  // A page that points its own name at this machine.
  testing::expect_api_error(
      fetch(server.port(), "GET /v1/models HTTP/1.1\r\nHost: evil.example:80\r\n\r\n"), 403);
  EXPECT_EQ(fetch(server.port(), "GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n").status,
            200);
  EXPECT_EQ(fetch(server.port(), "GET /v1/models HTTP/1.1\r\nHost: [::1]:80\r\n\r\n").status, 200);
}

// The status for this Host, at a server with these options.
int status_for(const std::string& host, const OpenAiServerOptions& options,
               const std::string& headers = "") {
  TestServer server(options);
  return fetch(server.port(),
               fmt::format("GET /v1/models HTTP/1.1\r\nHost: {}\r\n{}\r\n", host, headers))
      .status;
}

TEST(ServerHost, IsANameAndAPortAndNothingElse) {
  OpenAiServerOptions options;
  for (const char* host : {"[::1]evil.com", "[::1", "localhost:80:80", "localhost:x",
                           "[::1]:80evil.com", "localhost:80@evil.com"})
    EXPECT_EQ(status_for(host, options), 400) << host;
  for (const char* host :
       {"evil.com", "127.0.0.1.evil.com", "127.evil", "127.0.0.1.5", "1.2.3.4", "user@localhost"})
    EXPECT_EQ(status_for(host, options), 403) << host;
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1", "127.1.2.3:8", "[::1]:80"})
    EXPECT_EQ(status_for(host, options), 200) << host;
}

TEST(ServerHost, IsCheckedOnANetworkWithoutAKeyToo) {
  OpenAiServerOptions options;
  options.http.host = "0.0.0.0";
  EXPECT_EQ(status_for("evil.com", options), 403);
  EXPECT_EQ(status_for("192.168.1.7:8080", options), 200) << "an address cannot be pointed here";
  options.allowed_hosts = {"server.example"};
  EXPECT_EQ(status_for("server.example:8080", options), 200);
  EXPECT_EQ(status_for("evil.com", options), 403);
  options.api_keys = {{"secret"}};
  const std::string key = "Authorization: Bearer secret\r\n";
  EXPECT_EQ(status_for("evil.com", options, key), 403) << "names were given";
  options.allowed_hosts.clear();
  EXPECT_EQ(status_for("other.example", options, key), 200);
  EXPECT_EQ(status_for("other.example", options), 401);
  // Behind a proxy on this machine, too: a page whose name was pointed here does not know the key.
  options.http.host = "127.0.0.1";
  EXPECT_EQ(status_for("other.example", options, key), 200);
  EXPECT_EQ(status_for("other.example", options), 401);
}

TEST(ServerKey, IsCheckedBeforeTheBodyIsRead) {
  OpenAiServerOptions options;
  options.api_keys = {{"secret"}};
  TestServer server(options);
  const auto head = [&](const std::string& more) {
    HttpClient client(server.port());
    // The body never comes.
    client.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n" +
                more + "\r\n");
    return client.receive();
  };
  const std::string key = "X-Api-Key: secret\r\n";
  testing::expect_api_error(head(""), 401);
  testing::expect_api_error(head("Expect: 100-continue\r\n"), 401);
  testing::expect_api_error(head(key + "Origin: https://evil.example\r\n"), 403);
  testing::expect_api_error(head(key + "Content-Type: text/plain\r\n"), 415);
  testing::expect_api_error(head(key + "Expect: nonsense\r\n"), 417);
  EXPECT_EQ(head(key + "Expect: 100-continue\r\n").status, 100);
}

}  // namespace
}  // namespace anemone::serve
