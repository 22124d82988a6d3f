// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/cli/process.h"

namespace anemone::cli {
namespace {

void expect_one_line(const Outcome& outcome, int code) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("anemone: ")) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(Usage, HelpGoesToStdoutAndSucceeds) {
  for (const char* arguments : {"--help", "predict --help", "inspect --help"}) {
    const Outcome outcome = run_anemone(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments;
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find("Usage:"), std::string::npos) << outcome.out;
  }
  EXPECT_NE(run_anemone("predict --help").out.find("Examples:"), std::string::npos);
}

TEST(Usage, VersionNamesTheProgram) {
  const Outcome outcome = run_anemone("--version");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out.starts_with("anemone ")) << outcome.out;
}

TEST(Usage, ErrorsAreOneLineWithAHintAndExitTwo) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "anemone: expected a command, got none (see anemone --help)\n"},
      {"teleport", "(see anemone --help)\n"},
      {"inspect", "(see anemone inspect --help)\n"},
      {"inspect --teleport x", "(see anemone inspect --help)\n"},
      {"predict", "anemone: expected a package, got none (see anemone predict --help)\n"},
      {"predict p.mlpackage",
       "anemone: expected --inputs FILE, got none (see anemone predict --help)\n"},
      {"--threads 0 inspect x", "(see anemone"},
      {"--threads many inspect x", "(see anemone"},
      {"inspect a b", "(see anemone inspect --help)\n"},
  };
  for (const auto& [arguments, hint] : cases) {
    SCOPED_TRACE(arguments);
    const Outcome outcome = run_anemone(arguments);
    expect_one_line(outcome, 2);
    EXPECT_NE(outcome.err.find(hint), std::string::npos) << outcome.err;
  }
}

TEST(Usage, AMissingFileIsAnErrorOfItsOwnCode) {
  expect_one_line(run_anemone("inspect /nonexistent/x.safetensors"), 5);
  expect_one_line(run_anemone("predict /nonexistent/x.mlpackage --inputs a --outputs b"), 5);
}

TEST(Usage, AReaderThatLeavesIsNoError) {
  const Outcome outcome = run_anemone("inspect --help | true; exit 0;");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace anemone::cli
