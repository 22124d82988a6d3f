// SPDX-License-Identifier: Apache-2.0
// What the server tells of itself to programs: metrics, the version, the description of its paths.
#include "serve/metrics.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sstream>

#include "base/version.h"
#include "serve/openai/route.h"
#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using testing::fetch;
using testing::get_text;
using testing::json_of;
using testing::post_text;
using testing::TestServer;

// The value of a line "name value"; -1 when there is none.
double value_of(const std::string& metrics, const std::string& name) {
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + " ")) return std::strtod(line.c_str() + name.size(), nullptr);
  return -1;
}

TEST(Histogram, CountsWhatIsBelowEachBound) {
  constexpr std::array kBounds = {1.0, 2.5};
  Histogram histogram(kBounds);
  for (const double value : {0.5, 1.0, 2.0, 7.0}) histogram.observe(value);
  std::string out;
  histogram.print("t", "m=\"x\"", out);
  EXPECT_EQ(out,
            "t_bucket{m=\"x\",le=\"1\"} 2\nt_bucket{m=\"x\",le=\"2.5\"} 3\n"
            "t_bucket{m=\"x\",le=\"+Inf\"} 4\nt_sum{m=\"x\"} 10.5\nt_count{m=\"x\"} 4\n");
}

TEST(Metrics, EscapeTheNamesOfModels) {
  const Metrics metrics({"a\"b\\c\n"});
  EXPECT_NE(metrics.text({}).find("{model_name=\"a\\\"b\\\\c\\n\"}"), std::string::npos);
}

TEST(Metrics, LookUpNoInputsInCaches) {
  Metrics metrics({"m"});
  metrics.of("m").text_ended(/*prompt_tokens=*/7, /*cached_tokens=*/3, /*new_tokens=*/1);
  metrics.of("m").inputs_read(20);
  const std::string text = metrics.text({});
  EXPECT_EQ(value_of(text, R"(vllm:prompt_tokens_total{model_name="m"})"), 27);
  EXPECT_EQ(value_of(text, R"(vllm:prefix_cache_queries_total{model_name="m"})"), 7);
  EXPECT_EQ(value_of(text, R"(vllm:prefix_cache_hits_total{model_name="m"})"), 3);
}

TEST(ServerMetrics, CountTokensTimesAndEnds) {
  TestServer server;
  const auto metrics = [&] {
    const auto answer = fetch(server.port(), get_text("/metrics"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
    return answer.body;
  };
  const std::string m = R"({model_name="tiny"})";
  EXPECT_EQ(value_of(metrics(), "vllm:generation_tokens_total" + m), 0);
  const auto ask = [&](const char* body) {
    EXPECT_EQ(fetch(server.port(), post_text("/v1/completions", body)).status, 200);
  };
  ask(R"({"prompt": "xyz", "max_tokens": 5, "n": 2})");
  ask(R"({"model": "other/name", "prompt": "xyzxyz", "max_tokens": 50, "stop": "kl"})");
  EXPECT_TRUE(server.wait_for_counts([](const auto& counts) { return counts.finished == 2; }));
  const std::string text = metrics();
  EXPECT_EQ(value_of(text, "vllm:prompt_tokens_total" + m), 9) << "a prompt counts once";
  // The letters from g to l, after which the stop string is complete.
  EXPECT_EQ(value_of(text, "vllm:generation_tokens_total" + m), 10 + 6);
  EXPECT_EQ(value_of(text, "vllm:time_to_first_token_seconds_count" + m), 3);
  EXPECT_EQ(value_of(text, "vllm:inter_token_latency_seconds_count" + m), 4 + 4 + 5);
  EXPECT_GT(value_of(text, "vllm:inter_token_latency_seconds_sum" + m), 0);
  EXPECT_EQ(value_of(text, "vllm:e2e_request_latency_seconds_count" + m), 2);
  EXPECT_EQ(value_of(text, "vllm:request_prompt_tokens_sum" + m), 9);
  EXPECT_EQ(value_of(text, "vllm:request_generation_tokens_count" + m), 3);
  EXPECT_EQ(
      value_of(text, R"(vllm:request_success_total{model_name="tiny",finished_reason="stop"})"), 1);
  EXPECT_EQ(
      value_of(text, R"(vllm:request_success_total{model_name="tiny",finished_reason="length"})"),
      1);
  EXPECT_EQ(value_of(text, "vllm:num_requests_running" + m), 0);
  EXPECT_EQ(value_of(text, "vllm:num_requests_waiting" + m), 0);
  EXPECT_EQ(value_of(text, "vllm:kv_cache_usage_perc" + m), 0);

  // One that runs and one that waits.
  server.gate().close();
  testing::HttpClient first(server.port()), second(server.port());
  for (testing::HttpClient* client : {&first, &second})
    ASSERT_TRUE(client->send(post_text("/v1/completions", R"({"prompt": "q", "max_tokens": 1})")));
  EXPECT_TRUE(server.wait_for_counts(
      [](const auto& counts) { return counts.running == 1 && counts.waiting == 1; }));
  EXPECT_EQ(value_of(metrics(), "vllm:num_requests_running" + m), 1);
  EXPECT_EQ(value_of(metrics(), "vllm:num_requests_waiting" + m), 1);
  server.gate().open();
  EXPECT_EQ(first.receive().status, 200);
  EXPECT_EQ(second.receive().status, 200);
}

TEST(ServerMetrics, NeedAKey) {
  OpenAiServerOptions options;
  options.api_keys = {{"secret"}};
  TestServer server(options);
  EXPECT_EQ(fetch(server.port(), get_text("/metrics")).status, 401);
  EXPECT_EQ(fetch(server.port(), get_text("/metrics", "Authorization: Bearer secret\r\n")).status,
            200);
}

TEST(ServerVersion, IsThatOfTheProgram) {
  TestServer server;
  EXPECT_EQ(json_of(fetch(server.port(), get_text("/version")).body)["version"], version());
}

TEST(OpenApi, DescribesEveryRoute) {
  TestServer server;
  const Json document = json_of(fetch(server.port(), get_text("/openapi.json")).body);
  EXPECT_EQ(document["openapi"], "3.1.0");
  std::size_t operations = 0;
  for (const auto& [path, item] : document["paths"].items()) operations += item.size();
  EXPECT_EQ(operations, openai::routes().size());
  const Json& models = document["paths"]["/models/{model}"]["get"];
  EXPECT_EQ(models["parameters"][0]["name"], "model");
  const Json& chat = document["paths"]["/chat/completions"]["post"];
  const Json& schema = chat["requestBody"]["content"]["application/json"]["schema"];
  EXPECT_EQ(schema["required"], Json::array({"messages"}));
  EXPECT_TRUE(schema["properties"]["keep_alive"].is_object()) << schema;
  EXPECT_EQ(document["paths"]["/health"]["get"]["security"], Json::array());
  EXPECT_TRUE(document["components"]["schemas"]["Error"].is_object());
}

}  // namespace
}  // namespace anemone::serve
