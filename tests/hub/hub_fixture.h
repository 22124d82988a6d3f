// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "hub/pull.h"
#include "tests/hub/fake_hub.h"

namespace anemone::hub::testing {

// A hub with a small model, and an empty cache.
class HubTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "anemone-hub-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    endpoint_.emplace("HF_ENDPOINT", hub_.endpoint());
    home_.emplace("HF_HOME", folder_.string());
    pause_.emplace("ANEMONE_HUB_PAUSE_MS", "1");
    for (const char* name : {"HF_TOKEN", "HF_TOKEN_PATH", "HF_HUB_CACHE", "HF_HUB_OFFLINE"})
      ::unsetenv(name);
    for (int i = 0; i < 300'000; ++i) weights_ += static_cast<char>(i * 7 + i / 251);
    hub_.add("config.json", R"({"model_type":"qwen2"})", false);
    hub_.add("tokenizer.json", "{}", false);
    hub_.add("empty.json", "", false);
    hub_.add("model.safetensors", weights_, true);
    hub_.add("pytorch_model.bin", "pickle", true);
    hub_.add("onnx/model.onnx", "onnx", true);
    hub_.add("README.md", "read me", false);
  }
  void TearDown() override {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  Result<Pulled> run(PullOptions options = {}) {
    last_done_ = 0;
    return pull({"Owner", "Model"}, options, [&](std::uint64_t done, std::uint64_t total) {
      last_done_ = done;
      EXPECT_LE(done, total);
    });
  }
  std::filesystem::path repo() const { return folder_ / "hub" / "models--Owner--Model"; }
  std::filesystem::path in_snapshot(const std::string& path) const {
    return repo() / "snapshots" / FakeHub::kCommit / path;
  }
  // Nothing but whole contents.
  void expect_no_leftovers() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(repo())) {
      EXPECT_NE(entry.path().extension(), ".incomplete") << entry.path();
      EXPECT_NE(entry.path().extension(), ".linking") << entry.path();
    }
  }

  FakeHub hub_;
  std::filesystem::path folder_;
  std::string weights_;
  std::uint64_t last_done_ = 0;
  std::optional<Variable> endpoint_, home_, pause_;
};

}  // namespace anemone::hub::testing
