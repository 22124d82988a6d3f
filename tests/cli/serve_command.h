// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <string>

#include "tests/cli/process.h"
#include "tests/serve/http_client.h"

namespace anemone::cli {

// `anemone serve` over the pocket model, which is compiled once for all tests of an executable.
class ServeCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing::TemporaryFolder();
    const Outcome outcome = run_anemone(
        "compile '" + testing::source_path("models/pocket/checkpoint") + "' -o '" + model() + "'");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string model() { return folder_->file("pocket"); }
  static std::string ready() { return folder_->file("ready"); }
  static Outcome serve(const std::string& arguments, const std::string& stdin_text = "") {
    return run_anemone("serve '" + model() + "' " + arguments, stdin_text);
  }
  // Several such requests take longer than the grace that requests get at the end.
  static std::string endless_request(bool is_stream) {
    return serve::testing::post_text(
        "/v1/completions",
        R"({"prompt": ["x", "x", "x", "x", "x", "x", "x", "x"], "max_tokens": 500,
                        "ignore_eos": true, "n": 16, "stream": )" +
            std::string(is_stream ? "true}" : "false}"));
  }
  static std::string long_request() {
    return serve::testing::post_text(
        "/v1/completions",
        R"({"prompt": "x", "max_tokens": 500, "ignore_eos": true, "stream": true,
                        "n": 16})");
  }

 private:
  inline static testing::TemporaryFolder* folder_ = nullptr;
};

}  // namespace anemone::cli
