// SPDX-License-Identifier: Apache-2.0
// A model that says the alphabet, and connections to it.
#pragma once

#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/loop/engine_thread.h"
#include "serve/jsonl/connection.h"
#include "tests/serve/test_server.h"

namespace anemone::serve::jsonl {

class JsonlTest : public ::testing::Test {
 protected:
  JsonlTest() {
    std::signal(SIGPIPE, SIG_IGN);
    engine::testing::ScriptOptions script;
    script.context = testing::kTestContext;
    script.chat_template = testing::kTestTemplate;
    script.on_run = [this] { gate_.pass(); };
    model_ = std::make_unique<engine::testing::ScriptedModel>(script);
    for (std::int64_t at = 0; at <= testing::kTestContext; ++at)
      model_->say(at, {static_cast<std::int32_t>('a' + at % 26)});
    models_ = testing::given_model({"tiny"}, model_->model());
  }

  Json answer(Connection& connection, std::string_view line) {
    const Json out = connection.answer(line);
    EXPECT_EQ(dump_json(out).find('\n'), std::string::npos);
    return out;
  }
  Json answer(std::string_view line) {
    Connection connection = connect();
    return answer(connection, line);
  }
  Connection connect() {
    return Connection(
        *models_, engine_, {}, cancel_, [] {},
        [this](const Json& line) {
          sent_.push_back(line);
          return send_status_;
        });
  }

  testing::StepGate gate_;
  std::unique_ptr<engine::testing::ScriptedModel> model_;
  std::unique_ptr<ModelPool> models_;
  std::atomic<bool> cancel_ = false;
  std::vector<Json> sent_;  // the lines before an answer
  Status send_status_;
  engine::Engine engine_{{}};
  engine::EngineThread turns_{engine_};
};

}  // namespace anemone::serve::jsonl
