// SPDX-License-Identifier: Apache-2.0
// Commands that are given a model of the hub, with a hub on this machine.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>

#include "tests/cli/interrupted.h"
#include "tests/cli/process.h"
#include "tests/hub/fake_hub.h"
#include "tests/support/pseudo_terminal.h"
#include "tests/support/tiny_gguf.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using anemone::testing::PseudoTerminal;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;
using hub::testing::FakeHub;
using hub::testing::Fault;
using hub::testing::Variable;

class HubModel : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"HF_TOKEN", "HF_TOKEN_PATH", "HF_HUB_CACHE", "HF_HUB_OFFLINE"})
      ::unsetenv(name);
    const std::string tiny = source_path("tests/compiler/data/tiny/qwen3");
    for (const std::string& name : names_in(tiny))
      hub_.add(name, contents(tiny + "/" + name), name.ends_with(".safetensors"));
  }
  static std::string run(const std::string& model) {
    return fmt::format("run '{}' --prompt-ids '1 2 3' --max-new 2 --ignore-eos", model);
  }
  std::string cache() const { return folder_.file("cache"); }

  TemporaryFolder folder_;
  FakeHub hub_;
  Variable endpoint_{"HF_ENDPOINT", hub_.endpoint()};
  Variable home_{"HF_HOME", folder_.file("hub")};
  Variable pause_{"ANEMONE_HUB_PAUSE_MS", "1"};
  Variable cache_{"ANEMONE_CACHE", folder_.file("cache")};
};

TEST_F(HubModel, IsDownloadedOnlyWhenThatIsWanted) {
  const Outcome refused = run_anemone(run("Owner/Model"));
  EXPECT_EQ(refused.code, 5);
  EXPECT_NE(refused.err.find("--yes downloads without a question"), std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("[Owner/Model] download "), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("safetensors"), std::string::npos) << refused.err;
  EXPECT_EQ(hub_.count("/cdn/"), 0) << "nothing was downloaded";

  const Outcome first = run_anemone(run("Owner/Model") + " --yes");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_TRUE(first.err.starts_with("anemone: [Owner/Model] download ")) << first.err;
  const int downloads = hub_.count("/cdn/");
  // It is here now: nothing is asked, of a person or of the hub.
  const Outcome second = run_anemone(run("Owner/Model"));
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(second.err, "");
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(hub_.count("/cdn/"), downloads);
  // Its address names it, too.
  EXPECT_EQ(run_anemone(run(hub_.endpoint() + "/Owner/Model")).out, first.out);
  // The entry of the cache has the name of the model, and not that of a commit.
  EXPECT_TRUE(run_anemone("cache list").out.starts_with("Model ")) << run_anemone("cache list").out;
}

TEST_F(HubModel, APersonIsAsked) {
  PseudoTerminal no;
  no.start({ANEMONE_BINARY, "run", "Owner/Model", "--prompt-ids", "1 2", "--max-new", "1"});
  EXPECT_TRUE(no.wait_for("? [Y/n] ")) << no.output();
  no.type("n\n");
  const int refused = no.wait();
  EXPECT_TRUE(WIFEXITED(refused) && WEXITSTATUS(refused) == 1) << refused;
  EXPECT_EQ(hub_.count("/cdn/"), 0);
  PseudoTerminal yes;
  yes.start({ANEMONE_BINARY, "run", "Owner/Model", "--prompt-ids", "1 2", "--max-new", "1"});
  EXPECT_TRUE(yes.wait_for("? [Y/n] ")) << yes.output();
  yes.type("\n");
  const int status = yes.wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << yes.output();
}

TEST_F(HubModel, AnInterruptedDownloadGoesOnWhereItStopped) {
  hub_.fail("model.safetensors", {{Fault::Kind::kDrop, 0, 2000}, {Fault::Kind::kStatus, 404, 0}});
  EXPECT_NE(run_anemone(run("Owner/Model") + " --yes").code, 0);
  const Outcome outcome = run_anemone(run("Owner/Model") + " --yes");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find(" of it missing"), std::string::npos) << outcome.err;
}

// The bytes that the hub's cache has of large files that are not whole; their names are SHA-256
// hashes.
std::uintmax_t incomplete_bytes(const std::string& hub) {
  constexpr std::size_t kHashDigits = 64;
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(hub, error), end; !error && it != end;
       it.increment(error))
    if (const std::string name = it->path().filename().string();
        name.ends_with(".incomplete") && name.find('.') == kHashDigits)
      bytes += it->file_size(error);
  return bytes;
}

TEST_F(HubModel, CtrlCEndsADownloadThatTheNextRunGoesOnWith) {
  constexpr std::size_t kStep = 500;
  const std::string hub = folder_.file("hub");
  std::size_t here = 0;
  auto took = std::chrono::nanoseconds::max();
  // A machine that is busy with other things gets three tries to be quick.
  for (int attempt = 0; attempt < 3 && took > 300ms; ++attempt) {
    hub_.fail("model.safetensors", {{Fault::Kind::kStall, 0, kStep}});
    here += kStep;
    PseudoTerminal terminal;
    terminal.start({ANEMONE_BINARY, "run", "Owner/Model", "--prompt-ids", "1 2 3", "--max-new", "2",
                    "--ignore-eos", "--yes"});
    for (int i = 0; i < 20'000 && incomplete_bytes(hub) < here; ++i) terminal.read_for(1ms);
    ASSERT_EQ(incomplete_bytes(hub), here) << terminal.output();
    // The server is silent, so nothing but the signal ends it.
    const auto begin = std::chrono::steady_clock::now();
    ::kill(terminal.pid(), SIGINT);
    const int status = terminal.wait();
    took = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
    EXPECT_NE(terminal.output().find("anemone: interrupted"), std::string::npos)
        << terminal.output();
    EXPECT_EQ(incomplete_bytes(hub), here) << "what was received stays";
  }
  EXPECT_LT(took, 300ms);

  const Outcome outcome = run_anemone(run("Owner/Model") + " --yes");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(incomplete_bytes(hub), 0U);
  const auto seen = hub_.seen();
  const std::string rest = fmt::format("bytes={}-", here);
  const auto resumed = std::ranges::find_if(seen, [&](const hub::testing::Seen& request) {
    const auto range = request.headers.find("range");
    return request.path == "/cdn/model.safetensors" && range != request.headers.end() &&
           range->second == rest;
  });
  EXPECT_NE(resumed, seen.end()) << "the last run asks for the rest alone";
}

TEST_F(HubModel, OneFileOfARepositoryIsNamedByItsQuantization) {
  FakeHub hub;
  const Variable endpoint("HF_ENDPOINT", hub.endpoint());
  hub.add("tiny-Q8_0.gguf", anemone::testing::tiny_gguf(), true);
  hub.add("tiny-Q4_K_M.gguf", anemone::testing::tiny_gguf(), true);
  hub.add("README.md", "read me", false);
  const Outcome which = run_anemone(run("Owner/Model") + " --yes");
  EXPECT_EQ(which.code, 2);
  EXPECT_NE(which.err.find("there are Q4_K_M, Q8_0"), std::string::npos) << which.err;
  const Outcome none = run_anemone(run("Owner/Model:Q2_K") + " --yes");
  EXPECT_EQ(none.code, 3);
  EXPECT_NE(none.err.find("which are Q4_K_M, Q8_0"), std::string::npos) << none.err;
  const Outcome one = run_anemone(run("Owner/Model:q4_k_m") + " --yes");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(hub.count("/cdn/"), 1) << "the other file stays where it is";
  EXPECT_EQ(run_anemone(run("Owner/Model")).code, 0) << "the one that is here";
  EXPECT_EQ(run_anemone("compile Owner/Model:Q8_0 --yes -o " + folder_.file("out")).code, 0);
}

TEST_F(HubModel, AnotherVariantThanTheOneThatIsHereIsNotTakenForIt) {
  FakeHub hub;
  const Variable endpoint("HF_ENDPOINT", hub.endpoint() + "/");
  hub.add("tiny-Q4_K_M.gguf", anemone::testing::tiny_gguf(), true);
  hub.add("tiny-Q8_0-00001-of-00002.gguf", anemone::testing::tiny_gguf(), true);
  hub.add("tiny-Q8_0-00002-of-00002.gguf", "the second part", true);
  hub.add("config.json", "{}", false);
  ASSERT_EQ(run_anemone(run(hub.endpoint() + "/Owner/Model:Q4_K_M") + " --yes").code, 0);
  {
    const Variable offline("HF_HUB_OFFLINE", "1");
    const Outcome outcome = run_anemone(run("Owner/Model:Q8_0"));
    EXPECT_EQ(outcome.code, 3);
    EXPECT_NE(outcome.err.find("[Owner/Model:Q8_0] is not in the cache"), std::string::npos)
        << outcome.err;
  }
  // The first part comes, and the second one only the next time.
  hub.fail("tiny-Q8_0-00002-of-00002.gguf", {{Fault::Kind::kStatus, 404, 0}});
  EXPECT_NE(run_anemone(run("Owner/Model:Q8_0") + " --yes").code, 0);
  const int before = hub.count("00002-of-00002");
  EXPECT_GT(before, 0) << "or nothing was tested";
  run_anemone(run("Owner/Model:Q8_0") + " --yes");
  EXPECT_GT(hub.count("00002-of-00002"), before);
}

TEST_F(HubModel, WhatIsNowhereSaysWhatWorks) {
  for (const char* name : {"qwen", "./Owner/Model", "a/b/c"}) {
    const Outcome outcome = run_anemone(run(name));
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_NE(outcome.err.find("OWNER/NAME:Q4_K_M"), std::string::npos) << outcome.err;
  }
  // A path whose first folder is there is a mistyped path, and no reason to ask the network.
  fs::create_directories(folder_.file("models"));
  const Outcome path = run_in(folder_.path(), "", run("models/other") + " --yes");
  EXPECT_EQ(path.code, 5);
  EXPECT_NE(path.err.find("no such file or folder"), std::string::npos) << path.err;
  EXPECT_EQ(path.err.find("anemone pull"), std::string::npos) << "a path is no model of the hub";
  EXPECT_TRUE(hub_.seen().empty());
}

}  // namespace
}  // namespace anemone::cli
