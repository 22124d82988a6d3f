// SPDX-License-Identifier: Apache-2.0
// Damaged artifacts, impossible command lines and outputs, interrupted work: one line on stderr,
// the right exit code, and nothing left behind.
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "tests/cli/hostile.h"
#include "tests/cli/interrupted.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

class DamagedArtifact : public ::testing::TestWithParam<std::string> {};

TEST_P(DamagedArtifact, IsRefusedWhicheverFileItIs) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(tiny_artifact()))
    if (entry.is_regular_file())
      files.push_back(fs::relative(entry.path(), tiny_artifact()).generic_string());
  ASSERT_GE(files.size(), 7u);
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const std::string copy = folder.file("copy");
    fs::remove_all(copy);
    fs::copy(tiny_artifact(), copy, fs::copy_options::recursive);
    if (GetParam() == "half") {
      fs::resize_file(copy + "/" + file, fs::file_size(copy + "/" + file) / 2);
    } else if (GetParam() == "longer") {
      write_text(copy + "/" + file, contents(copy + "/" + file) + "x");
    } else {
      odd(file, GetParam())(copy);
    }
    expect_refusal(run_limited({"run", copy, "--prompt-ids", "1 2 3", "--max-new", "2"}), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Run, DamagedArtifact,
                         ::testing::Values("half", "longer", "removed", "folder", "loop", "pipe",
                                           "endless"),
                         [](const auto& test) { return test.param; });

// A link to the same content outside the folder is refused: the files of an artifact lie in it.
TEST(ArtifactWithALink, DoesNotLeadOut) {
  const TemporaryFolder folder;
  const std::string copy = folder.file("copy");
  for (const auto& entry : fs::directory_iterator(tiny_artifact())) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    fs::remove_all(copy);
    fs::copy(tiny_artifact(), copy, fs::copy_options::recursive);
    fs::remove_all(copy + "/" + name);
    fs::create_symlink(fs::absolute(entry.path()), copy + "/" + name);
    const Outcome outcome = run_limited({"run", copy, "--prompt-ids", "1 2 3", "--max-new", "2"});
    expect_refusal(outcome, kBadInput);
    EXPECT_NE(outcome.err.find("its link leads out"), std::string::npos) << outcome.err;
    expect_refusal(run_limited({"inspect", copy}), kBadInput);
  }
}

struct Line {
  const char* name;
  int code;
  const char* arguments;  // ARTIFACT and FOLDER are replaced
};
void PrintTo(const Line& line, std::ostream* out) {
  *out << line.name;
}

class HostileCommandLine : public ::testing::TestWithParam<Line> {};

TEST_P(HostileCommandLine, IsRefusedInOneLine) {
  const TemporaryFolder folder;
  write_text(folder.file("file"), "x");
  fs::copy(tiny_checkpoint(), folder.file("model"));
  fs::create_directory(folder.file("web"));
  write_text(folder.file("web/manifest.json"), R"({"name": "a web application"})");
  const auto before = names_in(folder.path()).size();
  std::string arguments = GetParam().arguments;
  for (const auto& [word, value] :
       {std::pair<std::string, std::string>("ARTIFACT", tiny_artifact()),
        {"FOLDER", folder.path()}})
    for (auto at = arguments.find(word); at != arguments.npos; at = arguments.find(word, at))
      arguments.replace(at, word.size(), value);
  const Outcome outcome = run_anemone(arguments);
  expect_refusal(outcome, GetParam().code);
  EXPECT_EQ(names_in(folder.path()).size(), before);
  EXPECT_TRUE(fs::exists(folder.file("web/manifest.json")));
  EXPECT_TRUE(fs::exists(folder.file("model/config.json")));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

constexpr Line kLines[] = {
    {"EmptyIds", kUsage, "run ARTIFACT --prompt-ids '' --max-new 1"},
    {"BlankIds", kUsage, "run ARTIFACT --prompt-ids '  ' --max-new 1"},
    {"WordIds", kUsage, "run ARTIFACT --prompt-ids '1 x' --max-new 1"},
    {"HugeIds", kUsage, "run ARTIFACT --prompt-ids '1 99999999999999999999' --max-new 1"},
    {"NegativeIds", kUsage, "run ARTIFACT --prompt-ids '1 -1' --max-new 1"},
    {"IdsPastTheVocabulary", kUsage, "run ARTIFACT --prompt-ids '1 2000000000' --max-new 1"},
    {"IdsFromNoFile", kIo, "run ARTIFACT --prompt-ids @FOLDER/nothing --max-new 1"},
    {"IdsFromADevice", kIo, "run ARTIFACT --prompt-ids @/dev/zero --max-new 1"},
    {"NegativeLength", kUsage, "run ARTIFACT --prompt-ids '1 2' --max-new -1"},
    {"LogitsToADevice", kIo, "run ARTIFACT --prompt-ids '1 2' --max-new 0 --logits-out /dev/null"},
    {"LogitsToNoFolder", kIo,
     "run ARTIFACT --prompt-ids '1 2' --max-new 0 --logits-out FOLDER/nothing/x"},
    {"LogitsOverAFolder", kIo,
     "run ARTIFACT --prompt-ids '1 2' --max-new 0 --logits-out FOLDER/web"},
    {"CompileOverAFile", kUsage, "compile FOLDER/model -o FOLDER/file"},
    {"CompileBelowAFile", kIo, "compile FOLDER/model -o FOLDER/file/x"},
    {"CompileOverAnotherProgramsFolder", kUsage, "compile FOLDER/model -o FOLDER/web"},
    {"CompileOverTheCheckpoint", kUsage, "compile FOLDER/model -o FOLDER/model"},
    {"CompileToADevice", kUsage, "compile FOLDER/model -o /dev/null"},
    {"CompileToNoName", kUsage, "compile FOLDER/model -o ''"},
    {"CompileNothing", kIo, "compile FOLDER/nothing -o FOLDER/out"},
    {"CompileAFile", kUnsupported, "compile FOLDER/file -o FOLDER/out"},
    {"ShardsThatOverlap", kUsage, "compile FOLDER/model -o FOLDER/out --shards 0:1,0:1"},
    {"ShardsOfNothing", kUsage, "compile FOLDER/model -o FOLDER/out --shards ''"},
    {"NegativeContext", kUsage, "compile FOLDER/model -o FOLDER/out --context -5"},
    {"BenchNothing", kIo, "bench FOLDER/nothing"},
    {"BenchAFile", kUnsupported, "bench FOLDER/file"},
    {"BenchAnotherProgramsFolder", kBadInput, "bench FOLDER/web"},
    {"BenchNothingThatFits", kUsage, "bench ARTIFACT --depth 1000000"},
    {"BenchPlotOverAFolder", kUsage, "bench ARTIFACT --plot FOLDER/web"},
    {"InspectNothing", kIo, "inspect FOLDER/nothing"},
    {"InspectAnEndlessFile", kIo, "inspect /dev/zero"},
    {"PredictADevice", kIo,
     "predict /dev/zero --inputs /dev/zero --outputs FOLDER/out.safetensors"},
};

INSTANTIATE_TEST_SUITE_P(Cli, HostileCommandLine, ::testing::ValuesIn(kLines),
                         [](const auto& test) { return test.param.name; });

TEST(HostilePrompt, LongerThanTheContextIsRefused) {
  std::string ids;
  for (int i = 0; i < 100'000; ++i) ids += "1 ";
  const TemporaryFolder folder;
  write_text(folder.file("ids"), ids);
  expect_refusal(run_limited({"run", tiny_artifact(), "--prompt-ids", "@" + folder.file("ids"),
                              "--max-new", "1"}),
                 kUsage);
}

TEST(HostileOutput, AFullDiskIsAnErrorOfStdout) {
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  for (const std::string& arguments : {"run " + tiny_artifact() + " --prompt-ids '1 2' --max-new 1",
                                       "inspect " + tiny_artifact()}) {
    const TemporaryFolder folder;
    const std::string command =
        "'" ANEMONE_BINARY "' " + arguments + " >/dev/full 2>'" + folder.file("err") + "'";
    const int status = std::system(command.c_str());
    expect_refusal({WEXITSTATUS(status), "", contents(folder.file("err"))}, kIo);
  }
}

int interrupted_compile(const TemporaryFolder& folder, int signal) {
  return interrupted(
      {"compile", source_path("models/pocket/checkpoint"), "-o", folder.file("out"), "--jobs", "1"},
      folder.path(), signal);
}

TEST(InterruptedCompile, CtrlCLeavesNothingThatIsInTheWay) {
  const TemporaryFolder folder;
  const int status = interrupted_compile(folder, SIGINT);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  EXPECT_FALSE(fs::exists(folder.file("out")));
  // A step that took longer than a person waits leaves what the next run removes.
  const Outcome outcome = run_anemone("compile " + tiny_checkpoint() + " -o " + folder.file("out"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"out"});
}

TEST(InterruptedCompile, AKillLeavesNoArtifactAndTheNextRunSucceeds) {
  const TemporaryFolder folder;
  const int status = interrupted_compile(folder, SIGKILL);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(fs::exists(folder.file("out")));
  const auto left = names_in(folder.path());
  ASSERT_EQ(left.size(), 1u);
  // Leftovers are removed when they are old enough to be nobody's.
  fs::last_write_time(folder.file(left[0]),
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  const Outcome outcome = run_anemone("compile " + tiny_checkpoint() + " -o " + folder.file("out"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"out"});
}

}  // namespace
}  // namespace anemone::cli
