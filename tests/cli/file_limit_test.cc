// SPDX-License-Identifier: Apache-2.0
// A file that reaches the limit of its size (ulimit -f, SIGXFSZ) is an I/O error: one line, and
// nothing half-written under the name that was asked for.
#include <filesystem>
#include <fmt/format.h>

#include "base/file.h"
#include "tests/cli/interrupted.h"
#include "tests/cli/process.h"
#include "tests/support/folder_bytes.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::files_in;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

class FileLimit : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder();
    ASSERT_EQ(run_anemone(fmt::format("compile '{}' -o '{}'", checkpoint(), model())).code, 0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override { ASSERT_EQ(::setenv("ANEMONE_CACHE", at("cache").c_str(), 1), 0); }
  void TearDown() override { ::unsetenv("ANEMONE_CACHE"); }

  static std::string checkpoint() { return source_path("models/pocket/checkpoint"); }
  static std::string model() { return folder_->file("model"); }
  std::string at(const std::string& name) const { return own_.file(name); }

  // Runs the command with files of at most 4 KiB, those of stdout and stderr among them.
  Outcome limited(const std::string& arguments) const {
    const std::string command = fmt::format("ulimit -f 8; exec '{}' {} >'{}' 2>'{}' </dev/null",
                                            ANEMONE_BINARY, arguments, at("stdout"), at("stderr"));
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status)) << "a signal ended it";
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(at("stdout")),
            contents(at("stderr"))};
  }
  void expect_too_large(const std::string& arguments) const {
    SCOPED_TRACE(arguments);
    const Outcome outcome = limited(arguments);
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_NE(outcome.err.find("] cannot write: File too large"), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }

  TemporaryFolder own_;

 private:
  static TemporaryFolder* folder_;
};
TemporaryFolder* FileLimit::folder_ = nullptr;

TEST_F(FileLimit, CompileLeavesNothing) {
  expect_too_large(fmt::format("compile '{}' -o '{}'", checkpoint(), at("out")));
  expect_too_large(fmt::format("compile '{}' -o '{}' --resume", checkpoint(), at("out")));
  EXPECT_EQ(names_in(own_.path()).size(), 2U) << "stdout and stderr";
}

TEST_F(FileLimit, CompileKeepsTheArtifactThatWasThere) {
  fs::copy(model(), at("out"), fs::copy_options::recursive);
  expect_too_large(fmt::format("compile '{}' -o '{}'", checkpoint(), at("out")));
  EXPECT_TRUE(files_in(at("out")) == files_in(model()));
}

TEST_F(FileLimit, ExportLeavesNothing) {
  expect_too_large(fmt::format("export '{}' -o '{}'", checkpoint(), at("a.safetensors")));
  EXPECT_EQ(names_in(own_.path()).size(), 2U);
}

TEST_F(FileLimit, RunIntoTheCacheWorksTheNextTime) {
  const std::string arguments = fmt::format("run '{}' 'What is 17 + 25?'", checkpoint());
  expect_too_large(arguments);
  EXPECT_EQ(run_anemone(arguments).out, "17 + 25 = 42.\n");
}

TEST_F(FileLimit, LogitsAreWrittenAsAWholeOrNotAtAll) {
  expect_too_large(fmt::format("run '{}' --prompt-ids '5 6 7' --max-new 3 --logits-out '{}'",
                               model(), at("logits.safetensors")));
  EXPECT_EQ(names_in(own_.path()).size(), 2U);
}

TEST_F(FileLimit, VerifyKeepsTheManifest) {
  fs::copy(model(), at("out"), fs::copy_options::recursive);
  expect_too_large(fmt::format("verify '{}' --against '{}' --tokens 8", at("out"), checkpoint()));
  EXPECT_TRUE(files_in(at("out")) == files_in(model()));
}

TEST_F(FileLimit, StdoutSaysSoAsWell) {
  expect_too_large("inspect --json '" + model() + "'");
  std::string long_text;
  for (int i = 0; i < 2000; ++i) long_text += "word ";
  expect_too_large(fmt::format("tokenize --model '{}' '{}'", model(), long_text));
}

TEST_F(FileLimit, OthersEndWithoutASignal) {
  for (const std::string& arguments :
       {std::string("doctor"), std::string("cache list"), "doctor '" + model() + "'",
        "bench '" + model() + "' --prefill 4 --decode 2 --reps 1 --plot '" + at("a.svg") + "'"}) {
    const Outcome outcome = limited(arguments);
    EXPECT_TRUE(outcome.code == 0 || outcome.code == 1 || outcome.code == 5)
        << arguments << outcome.code << outcome.err;
    EXPECT_EQ(fs::exists(at("a.svg")), outcome.code == 0 && arguments.starts_with("bench"));
  }
}

}  // namespace
}  // namespace anemone::cli
