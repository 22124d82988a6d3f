// SPDX-License-Identifier: Apache-2.0
// Many clients at a time on the pocket model: each gets the text that it would get alone.
#include <array>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string_view>
#include <thread>

#include "api/executors.h"
#include "compiler/compiler.h"
#include "serve/openai_server.h"
#include "tests/serve/http_client.h"
#include "tests/serve/test_server.h"
#include "tests/support/shared_data.h"

namespace anemone::serve {
namespace {

// The tests run once more over the doubles of Core ML and of the private client.
#ifndef ANEMONE_EXECUTOR
#define ANEMONE_EXECUTOR "cpu"
#endif

using testing::events_of;
using testing::fetch;
using testing::json_of;
using testing::post_text;

constexpr std::array kQuestions = {"What is 17 + 25?", "What is the capital of France?",
                                   "How do you say thank you in German?", "hello"};

class PocketServer : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new anemone::testing::TemporaryFolder();
    const std::string artifact = folder_->file("pocket");
    const auto report = compiler::compile(anemone::testing::source_path("models/pocket/checkpoint"),
                                          artifact, compiler::CompileOptions());
    ASSERT_TRUE(report.ok()) << report.status().message();
    api::ExecutorOptions with{.threads = 2, .kind = ANEMONE_EXECUTOR};
    with.coreml_cache = [] { return Result<std::string>(folder_->file("cache")); };
    // An answer that came from somewhere else would say nothing of the executor.
    with.on_note = [](std::string_view note) {
      EXPECT_EQ(note.find("the CPU computes it"), note.npos) << note;
    };
    const auto executor = std::move(api::make_executor(with)).value();
    auto model = engine::Model::load(artifact, *executor);
    ASSERT_TRUE(model.ok()) << model.status().message();
    OpenAiServerOptions options;
    options.http.port = 0;
    options.engine.sequences = 4;
    auto server = OpenAiServer::start(testing::given_model({"pocket"}, *model), options);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = server->release();
  }
  static void TearDownTestSuite() {
    delete server_;
    delete folder_;
  }

  // Greedy without a temperature: the pocket model's default.
  static std::string ask(std::size_t index, bool is_stream, const std::string& more = "") {
    const auto answer =
        fetch(server_->port(),
              post_text("/v1/chat/completions",
                        fmt::format(R"({{"messages": [{{"role": "user", "content": "{}"}}],)"
                                    R"("max_tokens": 24, "stream": {}{}}})",
                                    kQuestions[index % kQuestions.size()], is_stream, more)));
    EXPECT_EQ(answer.status, 200) << answer.body;
    if (!is_stream) return json_of(answer.body)["choices"][0]["message"]["content"];
    std::string text;
    for (const std::string& event : events_of(answer.body)) {
      if (event == "[DONE]") continue;
      const Json delta = json_of(event)["choices"][0]["delta"];
      if (delta.contains("content")) text += delta["content"].get<std::string>();
    }
    return text;
  }
  // All at a time.
  static std::vector<std::string> ask_all(std::size_t clients, const std::string& more) {
    std::vector<std::string> texts(clients);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < clients; ++i)
      threads.emplace_back([&, i] { texts[i] = ask(i, i % 3 != 0, more); });
    for (std::thread& thread : threads) thread.join();
    return texts;
  }

  static anemone::testing::TemporaryFolder* folder_;
  static OpenAiServer* server_;
};
anemone::testing::TemporaryFolder* PocketServer::folder_ = nullptr;
OpenAiServer* PocketServer::server_ = nullptr;

TEST_F(PocketServer, GivesSixteenGreedyClientsWhatEachGetsAlone) {
  std::vector<std::string> alone;
  for (std::size_t i = 0; i < kQuestions.size(); ++i) alone.push_back(ask(i, false));
  EXPECT_EQ(alone[0], "17 + 25 = 42.");
  const auto texts = ask_all(16, "");
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], alone[i % alone.size()]) << i;
}

TEST_F(PocketServer, GivesClientsWithASeedWhatEachGetsAlone) {
  const std::string more = R"(, "temperature": 1.5, "seed": 11)";
  std::vector<std::string> alone;
  for (std::size_t i = 0; i < kQuestions.size(); ++i) alone.push_back(ask(i, false, more));
  const auto texts = ask_all(8, more);
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], alone[i % alone.size()]) << i;
}

}  // namespace
}  // namespace anemone::serve
