// SPDX-License-Identifier: Apache-2.0
// The table of routes, and the answers while models are loaded.
#include "serve/openai/route.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

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

}  // namespace
}  // namespace anemone::serve
