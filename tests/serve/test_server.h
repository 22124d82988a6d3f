// SPDX-License-Identifier: Apache-2.0
// A server over a model that says the alphabet: after p tokens the next one is 'a' + p % 26. Its
// tokens are bytes, so that lengths are easy to foresee.
#pragma once

#include <condition_variable>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "serve/openai_server.h"
#include "tests/engine/scripted_model.h"
#include "tests/serve/given_models.h"
#include "tests/serve/http_client.h"

namespace anemone::serve::testing {

inline constexpr const char* kTestTemplate =
    "{% for m in messages %}{{ m.role }}:{{ m.content }}\n{% endfor %}"
    "{% if tools %}{{ tools | length }} tools\n{% endif %}";

// Lets the model take so many steps; open: any number. Thread-safe.
class StepGate {
 public:
  void close() {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  // Waits for its turn.
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open_ || permits_ > 0; });
    if (!is_open_) --permits_;
    --waiting_;
    ++passed_;
  }
  void permit(int steps) {
    const std::lock_guard lock(mutex_);
    permits_ += steps;
    changed_.notify_all();
  }
  // Whether so many steps came to wait and have no permit to go on, in a generous time.
  bool wait_for_waiting(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1),
                             [&] { return waiting_ - permits_ >= count; });
  }
  int passed() {
    const std::lock_guard lock(mutex_);
    return passed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  int permits_ = 0;
  int waiting_ = 0;
  int passed_ = 0;
};

inline constexpr std::int64_t kTestContext = 400;

class TestServer {
 public:
  explicit TestServer(OpenAiServerOptions options = {},
                      engine::testing::ScriptOptions script = {}) {
    script.context = kTestContext;
    if (script.chat_template.empty()) script.chat_template = kTestTemplate;
    script.on_run = [this] { gate_.pass(); };
    model_ = std::make_unique<engine::testing::ScriptedModel>(script);
    for (std::int64_t at = 0; at <= kTestContext; ++at)
      model_->say(at, {static_cast<std::int32_t>('a' + at % 26)});
    options.http.port = 0;
    auto server =
        OpenAiServer::start(given_model({"tiny", "other/name"}, model_->model()), options);
    EXPECT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
  }
  ~TestServer() { gate_.open(); }

  std::uint16_t port() const { return server_->port(); }
  OpenAiServer& server() { return *server_; }
  StepGate& gate() { return gate_; }
  engine::testing::ScriptedModel& model() { return *model_; }

  // Whether the counts come to fulfil this, in a generous time.
  bool wait_for_counts(const std::function<bool(const engine::Engine::Counts&)>& fulfils) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < end) {
      if (fulfils(server_->counts())) return true;
      std::this_thread::yield();
    }
    return false;
  }

 private:
  StepGate gate_;
  std::unique_ptr<engine::testing::ScriptedModel> model_;
  std::unique_ptr<OpenAiServer> server_;
};

// The alphabet from position `at` on.
inline std::string letters(std::int64_t at, std::int64_t count) {
  std::string out;
  for (std::int64_t i = 0; i < count; ++i) out += static_cast<char>('a' + (at + i) % 26);
  return out;
}

inline Json json_of(const std::string& text) {
  auto json = parse_json(text, "answer");
  EXPECT_TRUE(json.ok()) << json.status().message() << " in " << text;
  return json.ok() ? *std::move(json) : Json();
}

// The status and an error object with all four members; the code and the param where they are
// given.
inline void expect_api_error(const Answer& answer, int status, const char* param = nullptr,
                             const char* code = nullptr) {
  EXPECT_EQ(answer.status, status) << answer.body;
  EXPECT_TRUE(answer.is_complete);
  EXPECT_EQ(answer.header("Content-Type"), "application/json");
  const Json json = json_of(answer.body);
  ASSERT_TRUE(json.is_object() && json.contains("error")) << answer.body;
  const Json& error = json["error"];
  EXPECT_EQ(error.size(), 4U);
  for (const char* key : {"message", "type", "param", "code"})
    EXPECT_TRUE(error.contains(key)) << key;
  EXPECT_TRUE(error["message"].is_string() && !error["message"].get<std::string>().empty());
  EXPECT_TRUE(error["type"].is_string() && !error["type"].get<std::string>().empty());
  if (param != nullptr) {
    EXPECT_EQ(error["param"], param) << answer.body;
  }
  if (code != nullptr) {
    EXPECT_EQ(error["code"], code) << answer.body;
  }
}

}  // namespace anemone::serve::testing
