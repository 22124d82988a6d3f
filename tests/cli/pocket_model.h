// SPDX-License-Identifier: Apache-2.0
// The pocket model, compiled once, and what running it gives.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"
#include "tests/cli/process.h"
#include "tests/support/shared_data.h"

namespace anemone::cli {

inline std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

inline const std::string& checkpoint() {
  static const std::string path = testing::source_path("models/pocket/checkpoint");
  return path;
}

// One compiled pocket model for all tests of an executable.
class PocketModel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing::TemporaryFolder();
    const Outcome outcome =
        run_anemone("compile " + quoted(checkpoint()) + " -o " + quoted(model()));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "") << "no progress bar without a terminal";
    EXPECT_NE(outcome.out.find("6 layers, fp16 lut6, head lut8"), std::string::npos) << outcome.out;
    // Core ML compiles packages at the first run, with a note on stderr.
    if (!std::string_view(ANEMONE_FLAGS).empty()) {
      EXPECT_EQ(run("--prompt-ids 5 --max-new 1").code, 0);
    }
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string model() { return folder_->file("pocket"); }
  static Outcome run(const std::string& arguments, const std::string& stdin_text = "") {
    return run_anemone("run " + quoted(model()) + " " + arguments, stdin_text);
  }
  static Json run_json(const std::string& arguments) {
    const Outcome outcome = run(arguments + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto json = parse_json(outcome.out, "answer");
    EXPECT_TRUE(json.ok()) << outcome.out;
    return json.ok() ? *json : Json::object();
  }

 private:
  inline static testing::TemporaryFolder* folder_ = nullptr;
};

inline void expect_error(const Outcome& outcome, int code, const std::string& part) {
  SCOPED_TRACE(part);
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("anemone: ")) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

}  // namespace anemone::cli
