// SPDX-License-Identifier: Apache-2.0
// How much the clients of one key may ask for.
#include "serve/openai/key_limits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "serve/openai/key_ring.h"
#include "tests/serve/test_server.h"
#include "tests/support/shared_data.h"

namespace anemone::serve::openai {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::fetch;
using testing::get_text;
using testing::HttpClient;
using testing::post_text;
using testing::TestServer;

Result<KeyLimits> limits_of(std::initializer_list<const char*> texts) {
  KeyLimits limits;
  for (const char* text : texts) ANEMONE_RETURN_IF_ERROR(set_limit(text, limits));
  return limits;
}

TEST(KeyLimits, AreReadFromTheirTexts) {
  EXPECT_EQ(*limits_of({"concurrency=4", "rate=60/min"}), (KeyLimits{4, 60, 60s}));
  EXPECT_EQ(*limits_of({"rate=1/s"}), (KeyLimits{0, 1, 1s}));
  EXPECT_EQ(*limits_of({"rate=1000000/h"}), (KeyLimits{0, 1'000'000, 3600s}));
  for (const char* text :
       {"", "=", "concurrency", "concurrency=", "concurrency=0", "concurrency=-1", "concurrency=4x",
        "concurrency=1000001", "concurrency=99999999999999999999", "rate=", "rate=5", "rate=/min",
        "rate=0/s", "rate=1.5/s", "rate=5/", "rate=5/day", "rate=5/min/s", "secret", "Rate=5/s"}) {
    const auto limits = limits_of({text});
    EXPECT_EQ(limits.status().code(), Code::kInvalidArgument) << text;
    EXPECT_EQ(limits.status().message().find("secret"), std::string::npos);
  }
  EXPECT_FALSE(limits_of({"rate=5/s", "rate=6/s"}).ok()) << "which of the two?";
  EXPECT_FALSE(limits_of({"concurrency=5", "concurrency=5"}).ok());
}

// The seconds that a refused request is told to wait; 0: it was admitted.
int wait_of(const KeyUsage& usage, KeyUsage::Clock::time_point now) {
  KeyUsage::Admission admission;
  const auto error = usage.admit(0, now, admission);
  return error ? error->retry_after_s : 0;
}

TEST(KeyUsage, LetsARateThroughAndFillsEvenly) {
  const KeyUsage usage({{"key", {.rate = 3, .rate_period = 60s}}});
  const auto start = KeyUsage::Clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(wait_of(usage, start), 0) << i;
  EXPECT_EQ(wait_of(usage, start), 20);
  EXPECT_EQ(wait_of(usage, start + 15s), 5);
  EXPECT_EQ(wait_of(usage, start + 20s), 0) << "what was refused has cost nothing";
  EXPECT_EQ(wait_of(usage, start + 20s), 20);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(wait_of(usage, start + 1h), 0) << "it has rested: " << i;
  EXPECT_EQ(wait_of(usage, start + 1h), 20);
}

TEST(KeyUsage, CountsWhatRunsForEachKey) {
  const KeyUsage usage({{"one", {.concurrency = 2}}, {"two", {.concurrency = 1}}, {"free", {}}});
  const auto now = KeyUsage::Clock::now();
  std::vector<KeyUsage::Admission> held(5);
  EXPECT_FALSE(usage.admit(0, now, held[0]));
  EXPECT_FALSE(usage.admit(0, now, held[1]));
  EXPECT_FALSE(usage.admit(1, now, held[2]));
  for (int i = 0; i < 3; ++i) {
    const auto error = usage.admit(0, now, held[3]);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->status, 429);
    EXPECT_EQ(error->retry_after_s, 1);
  }
  const KeyUsage::Admission copy = held[0];
  held[0].reset();
  EXPECT_TRUE(usage.admit(0, now, held[0])) << "a copy holds it";
  held[1].reset();
  EXPECT_FALSE(usage.admit(0, now, held[1]));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(usage.admit(2, now, held[4]));
}

TEST(KeyRing, GoesOnWithTheCountsOfKeysThatStay) {
  using Keys = std::vector<ApiKey>;
  std::optional<Keys> next;
  const KeyLimits one_an_hour = {.rate = 1, .rate_period = 3600s};
  KeyRing ring({{"stays", one_an_hour}, {"goes"}, {"changes", one_an_hour}},
               [&] { return std::exchange(next, std::nullopt); });
  const auto now = KeyUsage::Clock::now();
  const auto admits = [&](std::size_t key) {
    KeyUsage::Admission admission;
    return !ring.current()->admit(key, now, admission);
  };
  EXPECT_TRUE(admits(0));
  EXPECT_TRUE(admits(2));
  EXPECT_FALSE(admits(0));
  const auto before = ring.current();
  next = Keys{{"comes"}, {"changes", {.rate = 2, .rate_period = 3600s}}, {"stays", one_an_hour}};
  EXPECT_EQ(ring.current()->keys().front().key, "comes");
  EXPECT_EQ(before->keys().front().key, "stays") << "a request goes on with the keys that it has";
  EXPECT_TRUE(admits(0));
  EXPECT_TRUE(admits(1));
  EXPECT_TRUE(admits(1));
  EXPECT_FALSE(admits(1));
  EXPECT_FALSE(admits(2));
  next = Keys();
  EXPECT_EQ(ring.current()->keys().size(), 3U) << "no keys would let everybody in";
}

constexpr const char* kAsk = R"({"prompt": "x", "max_tokens": 2})";

class KeyLimitsOfAServer : public ::testing::Test {
 protected:
  static OpenAiServerOptions options() {
    OpenAiServerOptions out;
    out.api_keys = {
        {"narrow", {.concurrency = 1}}, {"slow", {.rate = 2, .rate_period = 3600s}}, {"free"}};
    return out;
  }
  static std::string request(const std::string& key, const std::string& body = kAsk) {
    return post_text("/v1/completions", body, "Authorization: Bearer " + key + "\r\n");
  }
  Answer ask(const std::string& key) { return fetch(server_.port(), request(key)); }
  // Whether the place of the key comes free, in a generous time.
  bool wait_for_place() {
    for (const auto end = std::chrono::steady_clock::now() + 1min;
         std::chrono::steady_clock::now() < end; std::this_thread::yield())
      if (ask("narrow").status == 200) return true;
    return false;
  }

  TestServer server_{options()};
};

TEST_F(KeyLimitsOfAServer, RefuseMoreAtATimeThanTheKeyMay) {
  server_.gate().close();
  HttpClient running(server_.port());
  ASSERT_TRUE(running.send(request("narrow")));
  ASSERT_TRUE(server_.gate().wait_for_waiting(1));
  const Answer refused = ask("narrow");
  testing::expect_api_error(refused, 429, nullptr, "rate_limit_exceeded");
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_EQ(refused.body.find("narrow"), std::string::npos) << "the key is not shown";
  EXPECT_EQ(fetch(server_.port(), get_text("/v1/models", "X-Api-Key: narrow\r\n")).status, 200);
  HttpClient other(server_.port());
  ASSERT_TRUE(other.send(request("free")));
  server_.gate().open();
  EXPECT_EQ(other.receive().status, 200);
  EXPECT_EQ(running.receive().status, 200);
  // Whoever has an answer may ask again at once.
  for (int i = 0; i < 50; ++i) ASSERT_EQ(ask("narrow").status, 200) << i;
  const std::string stream = R"({"prompt": "x", "max_tokens": 2, "stream": true})";
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(fetch(server_.port(), request("narrow", stream)).status, 200) << i;
  // What is wrong is a request as well, and ends.
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(fetch(server_.port(), request("narrow", "{}")).status, 400) << i;
}

TEST_F(KeyLimitsOfAServer, AreFreeAgainWhenAClientLeaves) {
  server_.gate().close();
  {
    HttpClient gone(server_.port());
    ASSERT_TRUE(gone.send(request("narrow", R"({"prompt": "x", "max_tokens": 300})")));
    ASSERT_TRUE(server_.gate().wait_for_waiting(1));
  }
  server_.gate().open();
  EXPECT_TRUE(wait_for_place());
  {
    // It counts from its head on, as soon as the server has read that.
    std::optional<HttpClient> half;
    do {
      half.emplace(server_.port());
      ASSERT_TRUE(half->send(request("narrow").substr(0, request("narrow").size() - 5)));
    } while (ask("narrow").status == 200);
    EXPECT_EQ(ask("narrow").status, 429);
  }
  EXPECT_TRUE(wait_for_place());
}

TEST_F(KeyLimitsOfAServer, RefuseMoreThanTheRate) {
  EXPECT_EQ(ask("slow").status, 200);
  EXPECT_EQ(ask("slow").status, 200);
  const Answer refused = ask("slow");
  testing::expect_api_error(refused, 429, nullptr, "rate_limit_exceeded");
  EXPECT_EQ(std::stoi(refused.header("Retry-After")), 1800);
  EXPECT_EQ(ask("free").status, 200);
}

TEST(KeyLimitsLog, HoldsNoKey) {
  const anemone::testing::TemporaryFolder folder;
  const std::string path = folder.file("log");
  {
    const Descriptor log(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    OpenAiServerOptions options;
    options.api_keys = {{"secret-word", {.rate = 1, .rate_period = 3600s}}};
    options.log_format = LogFormat::kText;
    options.log_descriptor = log.get();
    TestServer server(options);
    for (const char* key : {"secret-word", "secret-word", "secret-other"})
      fetch(server.port(),
            post_text("/v1/completions", kAsk, fmt::format("X-Api-Key: {}\r\n", key)));
  }
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find(" 429 "), std::string::npos) << text;
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
}

}  // namespace
}  // namespace anemone::serve::openai
