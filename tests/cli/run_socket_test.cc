// SPDX-License-Identifier: Apache-2.0
// `run --socket`: a server that runs already answers, with the text that `run` gives without it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

#include "base/descriptor.h"
#include "base/json.h"
#include "tests/cli/pocket_model.h"
#include "tests/cli/serve_process.h"

namespace anemone::cli {
namespace {

class RunSocket : public PocketModel {
 protected:
  // Runs a model, the server's own if it is empty, while a server has the model under its own name.
  Outcome run_beside_server(const std::string& arguments, const std::string& stdin_text = "",
                            const std::string& other_model = "") {
    std::filesystem::remove(ready());
    const pid_t server = ::fork();
    if (server == 0) {
      const std::string shell = "exec '" ANEMONE_BINARY "' " ANEMONE_FLAGS " serve " +
                                quoted(model()) + " --socket " + quoted(path()) + " >" +
                                quoted(ready());
      ::execl("/bin/sh", "sh", "-c", shell.c_str(), nullptr);
      ::_exit(127);
    }
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!contents(ready()).ends_with('\n') && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const Outcome outcome =
        run_anemone("run " + quoted(other_model.empty() ? model() : other_model) + " " + arguments +
                        " --socket " + quoted(path()),
                    stdin_text);
    ::kill(server, SIGTERM);
    ::waitpid(server, nullptr, 0);
    return outcome;
  }
  std::string path() const { return folder_.file("lines.sock"); }
  std::string ready() const { return folder_.file("ready"); }

  const testing::TemporaryFolder folder_;
};

constexpr const char* kSaysThatItAnswers = "lines.sock] answers";

TEST_F(RunSocket, AServerThatHasTheModelAnswers) {
  for (const std::string arguments :
       {"'What is 17 + 25?' --verbose", "'The capital of France' --raw -n 8 --verbose",
        "--prompt-ids '5 6 7' -n 4 --verbose",
        "'Name a color' --choice red --choice blue --verbose",
        "'What is 17 + 25?' --system 'Answer.' --temperature 0.8 --seed 3 --verbose"}) {
    SCOPED_TRACE(arguments);
    const Outcome here = run(arguments);
    const Outcome there = run_beside_server(arguments);
    EXPECT_EQ(there.code, 0) << there.err;
    EXPECT_EQ(there.out, here.out);
    EXPECT_NE(there.err.find(kSaysThatItAnswers), std::string::npos) << there.err;
    EXPECT_EQ(here.err.find(kSaysThatItAnswers), std::string::npos);
  }
}

TEST_F(RunSocket, GivesJsonAndReadsStdin) {
  const Outcome outcome = run_beside_server("- --json", "What is 17 + 25?\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json here = run_json("'What is 17 + 25?'");
  const auto there = parse_json(outcome.out, "answer");
  ASSERT_TRUE(there.ok()) << outcome.out;
  for (const char* key : {"text", "ids", "prompt_tokens", "finish_reason"})
    EXPECT_EQ((*there)[key], here[key]) << key;
  EXPECT_GT((*there)["timing"]["prefill_s"], 0);
}

TEST_F(RunSocket, WhatAServerHasNotIsAnsweredHere) {
  // Nobody listens, in three ways.
  const std::string sum = "'What is 17 + 25?' --verbose --socket " + quoted(path());
  const std::string answer = "17 + 25 = 42.\n";
  EXPECT_EQ(run(sum).out, answer);
  {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    const Descriptor left(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(left.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_EQ(run(sum).out, answer) << "of a server that is gone";
  std::filesystem::remove(path());
  // The flag is none of the protocol's.
  Outcome outcome = run_beside_server("'What is 17 + 25?' --verbose --no-repeat-ngram 9");
  EXPECT_EQ(outcome.out, answer);
  EXPECT_NE(outcome.err.find("--no-repeat-ngram"), std::string::npos) << outcome.err;
  // Another model than the server's.
  const std::string other = folder_.file("other");
  std::filesystem::create_directory_symlink(model(), other);
  outcome = run_beside_server("'What is 17 + 25?' --verbose", "", other);
  EXPECT_EQ(outcome.out, answer);
  EXPECT_NE(outcome.err.find("has no model other"), std::string::npos) << outcome.err;
  expect_error(run("x --socket " + quoted(std::string(200, 'x'))), 2, "[--socket]");
  std::ofstream(path()) << "no socket";
  EXPECT_EQ(run(sum).out, answer) << "refuses connections";
}

TEST_F(RunSocket, SaysWhatTheServerRefuses) {
  expect_error(run_beside_server("x --json-schema '{\"type\": 5}'"), 2, "type");
  expect_error(run_beside_server("--prompt-ids 99999999"), 2, "99999999");
}

}  // namespace
}  // namespace anemone::cli
