// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "tests/cli/interrupted.h"
#include "tests/cli/process.h"

namespace anemone::cli {
namespace {

using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

class Doctor : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::setenv("ANEMONE_CACHE", cache().c_str(), 1), 0); }
  void TearDown() override { ASSERT_EQ(::unsetenv("ANEMONE_CACHE"), 0); }
  std::string cache() const { return folder_.file("cache"); }
  std::string artifact() const {
    const std::string out = folder_.file("artifact");
    EXPECT_EQ(
        run_anemone("compile " + source_path("tests/compiler/data/tiny/qwen2") + " -o " + out).code,
        0);
    return out;
  }

  TemporaryFolder folder_;
};

void expect_problem(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_NE(outcome.out.find("problem: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST_F(Doctor, FindsAHealthyMachineAndLeavesNothing) {
  const Outcome outcome = run_anemone("doctor");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* part : {"processor", "cores", "memory", "smoke test   passed", "cpu: available",
                           "coreml: not available", "all is well"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  EXPECT_TRUE(names_in(cache()).empty());
}

TEST_F(Doctor, SaysItInJsonToo) {
  const Outcome outcome = run_anemone("--threads 3 doctor --json " + artifact());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = parse_json(outcome.out, "report");
  ASSERT_TRUE(json.ok()) << outcome.out;
  EXPECT_EQ((*json)["ok"], true);
  EXPECT_EQ((*json)["threads"], 3);
  EXPECT_EQ((*json)["smoke_test"], "passed");
  EXPECT_EQ((*json)["cache"]["path"], cache());
  EXPECT_EQ((*json)["cache"]["writable"], true);
  EXPECT_EQ((*json)["environment"]["ANEMONE_CACHE"], cache());
  EXPECT_EQ((*json)["artifact"]["ok"], true);
  EXPECT_GT((*json)["memory_bytes"], 0);
}

TEST_F(Doctor, FindsADamagedArtifact) {
  const std::string path = artifact();
  const std::string name = "head_0.mlpackage/Data/com.apple.CoreML/weights/weight.bin";
  std::string weights = contents(path + "/" + name);
  weights[100] ^= 1;
  ASSERT_TRUE(write_file(path + "/" + name, weights).ok());
  expect_problem(run_anemone("doctor " + path), name);
  expect_problem(run_anemone("doctor " + folder_.path()), folder_.path());
  expect_problem(run_anemone("doctor /nonexistent"), "[/nonexistent] no such file or folder");
  expect_problem(run_anemone("doctor " + source_path("tests/compiler/data/tiny/qwen2")),
                 "anemone compile makes one of a checkpoint");
}

TEST_F(Doctor, FindsACacheThatCannotBeWritten) {
  // A file in the place of the folder stops the super-user too.
  ASSERT_TRUE(write_file(cache(), "x").ok());
  expect_problem(run_anemone("doctor"), "cache");
}

}  // namespace
}  // namespace anemone::cli
