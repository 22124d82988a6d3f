// SPDX-License-Identifier: Apache-2.0
// `anemone compile` is killed at many moments; --resume then gives the bytes of a run that was not.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <spawn.h>
#include <thread>
#include <unistd.h>

#include "tests/cli/process.h"
#include "tests/support/folder_bytes.h"

extern char** environ;

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using anemone::testing::files_in;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

constexpr int kMoments = 50;

// Starts it with stdout and stderr closed to us, and returns its process.
pid_t start(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), ANEMONE_BINARY);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  EXPECT_EQ(posix_spawn(&pid, ANEMONE_BINARY, &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

TEST(Kill, ResumeGivesTheBytesOfAnUninterruptedRun) {
  const TemporaryFolder folder;
  const std::string output = folder.file("artifact");
  // Enough packages and work for a kill to come before, in, between and after them.
  const std::vector<std::string> arguments = {"compile",  source_path("models/pocket/checkpoint"),
                                              "-o",       output,
                                              "--quant",  "lut6",
                                              "--shards", "6"};
  const auto begin = Clock::now();
  ASSERT_EQ(run_anemone(fmt::format("compile '{}' -o '{}' --quant lut6 --shards 6", arguments[1],
                                    folder.file("whole")))
                .code,
            0);
  auto whole_time = Clock::now() - begin;
  const auto whole = files_in(folder.file("whole"));
  ASSERT_FALSE(whole.empty());

  int interrupted = 0;
  for (int moment = 0; moment < kMoments; ++moment) {
    SCOPED_TRACE(fmt::format("moment {} of {}", moment, kMoments));
    const pid_t pid = start(arguments);
    ASSERT_GT(pid, 0);
    const auto pause = whole_time * moment / kMoments;
    std::this_thread::sleep_for(pause);
    ::kill(pid, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
      ++interrupted;
      // There is the whole artifact or none.
      EXPECT_TRUE(!fs::exists(output) || files_in(output) == whole);
    } else {
      // Runs take less time than the first, when the machine was busy: earlier moments from here
      // on.
      whole_time = std::min(whole_time, pause * 3 / 4);
    }
    const Outcome resumed = run_anemone(
        fmt::format("compile '{}' -o '{}' --quant lut6 --shards 6 --resume", arguments[1], output));
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_TRUE(files_in(output) == whole);
    EXPECT_FALSE(fs::exists(output + ".partial"));
    fs::remove_all(output);
  }
  EXPECT_GT(interrupted, kMoments / 4);
}

// Another artifact has the name already: at no moment is there anything else than the old one, the
// new one or, between two renames, none, which the next run mends.
TEST(Kill, WhileAnArtifactIsReplacedNeitherIsLost) {
  constexpr int kReplacements = 30;
  const TemporaryFolder folder;
  const std::string output = folder.file("artifact");
  const std::string model = source_path("tests/compiler/data/tiny/qwen3");
  const auto compile = [&](const std::string& to, const std::string& flags) {
    return run_anemone(fmt::format("compile '{}' -o '{}' {}", model, to, flags));
  };
  ASSERT_EQ(compile(folder.file("old"), "--quant none").code, 0);
  const auto begin = Clock::now();
  ASSERT_EQ(compile(folder.file("new"), "--quant int8").code, 0);
  const auto whole_time = Clock::now() - begin;
  const auto old_files = files_in(folder.file("old"));
  const auto new_files = files_in(folder.file("new"));
  ASSERT_FALSE(old_files == new_files);
  for (int i = 0; i < kReplacements; ++i) {
    SCOPED_TRACE(i);
    fs::remove_all(output);
    fs::copy(folder.file("old"), output, fs::copy_options::recursive);
    const pid_t pid = start({"compile", model, "-o", output, "--quant", "int8"});
    ASSERT_GT(pid, 0);
    // Most of them about the end, where the renames are.
    std::this_thread::sleep_for(whole_time * (i + 10) / (kReplacements + 5));
    ::kill(pid, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    if (fs::exists(output)) {
      const auto now = files_in(output);
      EXPECT_TRUE(now == old_files || now == new_files);
    } else {
      EXPECT_TRUE(files_in(output + ".partial/replaced") == old_files);
    }
    const Outcome next = compile(output, "--quant int8");
    EXPECT_EQ(next.code, 0) << next.err;
    EXPECT_TRUE(files_in(output) == new_files);
    EXPECT_FALSE(fs::exists(output + ".partial"));
  }
}

// The process may be in the middle of anything: another process removes what it leaves.
TEST(Kill, AnInterruptedCompileLeavesNothing) {
  const TemporaryFolder folder;
  const std::string output = folder.file("artifact");
  const std::string model = source_path("models/pocket/checkpoint");
  const auto begin = Clock::now();
  ASSERT_EQ(run_anemone(fmt::format("compile '{}' -o '{}'", model, folder.file("whole"))).code, 0);
  const auto whole_time = Clock::now() - begin;
  int left_work = 0;
  constexpr int kInterrupts = 12;
  for (int moment = 0; moment < kInterrupts; ++moment) {
    const int signal = std::array{SIGINT, SIGTERM, SIGHUP}[static_cast<std::size_t>(moment % 3)];
    SCOPED_TRACE(fmt::format("signal {} at moment {}", signal, moment));
    const pid_t pid = start({"compile", model, "-o", output});
    ASSERT_GT(pid, 0);
    while (!fs::exists(output + ".partial") && !fs::exists(output))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(whole_time * moment / kInterrupts);
    ::kill(pid, signal);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
      EXPECT_EQ(WTERMSIG(status), signal);
      ++left_work;
    }
    const auto end = Clock::now() + std::chrono::minutes(1);
    while (fs::exists(output + ".partial") && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(fs::exists(output + ".partial"));
    fs::remove_all(output);
  }
  EXPECT_GT(left_work, 3);
}

TEST(Kill, CompilesThatRaceForANameDoNotMix) {
  const TemporaryFolder folder;
  const std::string output = folder.file("artifact");
  const std::string model = source_path("tests/compiler/data/tiny/qwen3");
  ASSERT_EQ(run_anemone(fmt::format("compile '{}' -o '{}'", model, output)).code, 0);
  const auto whole = files_in(output);
  for (int round = 0; round < 5; ++round) {
    std::vector<Outcome> outcomes(4);
    std::vector<std::thread> threads;
    for (Outcome& outcome : outcomes)
      threads.emplace_back(
          [&] { outcome = run_anemone(fmt::format("compile '{}' -o '{}'", model, output)); });
    for (std::thread& thread : threads) thread.join();
    int finished = 0;
    for (const Outcome& outcome : outcomes) {
      finished += outcome.code == 0 ? 1 : 0;
      EXPECT_TRUE(outcome.code == 0 ||
                  outcome.err.find("another process is using") != std::string::npos)
          << outcome.err;
    }
    EXPECT_GE(finished, 1);
    EXPECT_TRUE(files_in(output) == whole);
    EXPECT_FALSE(fs::exists(output + ".partial"));
  }
}

}  // namespace
}  // namespace anemone::cli
