// SPDX-License-Identifier: Apache-2.0
// `run --socket`: a server that runs already answers, with the text that `run` gives without it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <tuple>
#include <utility>

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
                            const std::string& other_model = "",
                            const std::string& served_model = "") {
    std::filesystem::remove(ready());
    const pid_t server = ::fork();
    if (server == 0) {
      const std::string shell = "exec '" ANEMONE_BINARY "' " ANEMONE_FLAGS " serve " +
                                quoted(served_model.empty() ? model() : served_model) +
                                " --socket " + quoted(path()) + " >" + quoted(ready());
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
        "'Name a color' --stages '{\"stages\": [{\"kind\": \"field\", \"min_tokens\": 3, "
        "\"max_tokens\": 6}, {\"kind\": \"literal\", \"text\": \"Red.\"}]}' --verbose",
        "'What is 17 + 25?' --system 'Answer.' --temperature 0.8 --seed 3 --verbose",
        "'What is 17 + 25?' --greedy --verbose", "'What is 17 + 25?' --stop 5 --verbose"}) {
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
  for (const auto& [arguments, stdin_text] :
       std::initializer_list<std::pair<const char*, const char*>>{
           {"-", "What is 17 + 25?\n"},
           {"'What is 17 + 25?' --temperature 0.8 --seed 3 --stop 5", ""},
           {"--prompt-ids '5 6 7' -n 4", ""},
           {"--prompt-ids '5 6 7' --stages '{\"stages\": [{\"kind\": \"field\"}]}'", ""}}) {
    SCOPED_TRACE(arguments);
    const std::string flags = std::string(arguments) + " --json";
    Outcome outcome = run(flags, stdin_text);
    auto here = parse_json(outcome.out, "answer");
    outcome = run_beside_server(flags, stdin_text);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    auto there = parse_json(outcome.out, "answer");
    ASSERT_TRUE(here.ok() && there.ok()) << outcome.out;
    EXPECT_GT((*there)["timing"]["prefill_s"], 0);
    // All but the times.
    for (Json* json : {&*here, &*there})
      for (auto& [name, time] : (*json)["timing"].items()) time = nullptr;
    EXPECT_EQ(*there, *here);
  }
}

// A model whose generation_config.json has a penalty, which --greedy leaves alone.
TEST_F(RunSocket, GreedyIsGreedyThere) {
  const std::string penalized = folder_.file("penalized");
  std::filesystem::copy(checkpoint(), penalized, std::filesystem::copy_options::recursive);
  std::ofstream(penalized + "/generation_config.json")
      << R"({"repetition_penalty": 1.5, "no_repeat_ngram_size": 2})";
  const std::string compiled = folder_.file("compiled");
  ASSERT_EQ(run_anemone("compile " + quoted(penalized) + " -o " + quoted(compiled)).code, 0);
  const std::string arguments = "--raw 'ababab' -n 12";
  const std::string run = "run " + quoted(compiled) + " " + arguments;
  EXPECT_NE(run_anemone(run).out, run_anemone(run + " --greedy").out) << "the penalty matters";
  EXPECT_EQ(run_beside_server(arguments + " --greedy", "", compiled, compiled).out,
            run_anemone(run + " --greedy").out);
}

TEST_F(RunSocket, AnEmptyPromptIsWhatItIsWithoutAServer) {
  for (const char* words : {"'' --raw", "'' -n 2", "-"})
    EXPECT_EQ(run_beside_server(words).code, run(words).code) << words;
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
  outcome = run_beside_server("'What is 17 + 25?' --verbose --check-hashes");
  EXPECT_EQ(outcome.out, answer);
  EXPECT_NE(outcome.err.find("--check-hashes"), std::string::npos) << outcome.err;
  std::string stops;
  for (int i = 0; i < 17; ++i) stops += " --stop 'no such text " + std::to_string(i) + "'";
  EXPECT_EQ(run_beside_server("'What is 17 + 25?'" + stops).out, answer);
  // Another artifact of the same name.
  const std::string twin =
      folder_.file("twin/" + std::filesystem::path(model()).filename().string());
  std::filesystem::create_directory(folder_.file("twin"));
  ASSERT_EQ(
      run_anemone("compile " + quoted(checkpoint()) + " --quant none -o " + quoted(twin)).code, 0);
  outcome = run_beside_server("'What is 17 + 25?' --verbose", "", twin);
  EXPECT_EQ(outcome.out, answer);
  EXPECT_EQ(outcome.err.find(kSaysThatItAnswers), std::string::npos) << outcome.err;
  // Another model than the server's.
  const std::string other = folder_.file("other");
  std::filesystem::create_directory_symlink(model(), other);
  outcome = run_beside_server("'What is 17 + 25?' --verbose", "", other);
  EXPECT_EQ(outcome.out, answer);
  EXPECT_NE(outcome.err.find("has no model other"), std::string::npos) << outcome.err;
  expect_error(run("x --socket " + quoted(std::string(200, 'x'))), 2, "--socket");
  std::ofstream(path()) << "no socket";
  EXPECT_EQ(run(sum).out, answer) << "refuses connections";
}

TEST_F(RunSocket, SaysWhatTheServerRefuses) {
  expect_error(run_beside_server("--prompt-ids 99999999"), 2, "99999999");
  // The exit code and the message are those of a run without a server.
  const std::string bad = folder_.file("bad.gbnf");
  std::ofstream(bad) << "rule ::= [";
  const std::tuple<std::string, int, std::string> cases[] = {
      {R"(--json-schema '{"type": 5}')", 2, "[--json-schema"},
      {"--json-schema '{'", 2, "[--json-schema]"},
      {R"(--json-schema '{"not": {"type": "null"}}')", 4, "[--json-schema"},
      {"--regex '('", 2, "[--regex]"},
      {"--grammar 'rule ::= \"a\"'", 2, "[--grammar]"},
      {"--grammar 'root ::= root'", 2, "[--grammar]"},
      {"--grammar @" + bad, 3, "[--grammar @" + bad + "]"},
      {"--json-schema @" + bad, 3, "[--json-schema @" + bad + "]"},
      {"--choice a --choice \"$(printf '\\377')\"", 2, "[--choice]"}};
  for (const auto& [flags, code, subject] : cases) {
    SCOPED_TRACE(flags);
    const Outcome refused = run_beside_server("x " + flags);
    expect_error(refused, code, subject);
    const Outcome here = run("x " + flags);
    EXPECT_EQ(refused.code, here.code);
    EXPECT_EQ(refused.err, here.err);
  }
  for (const char* stages : {"[1]", R"({"stages": [{"kind": "loop"}]})"}) {
    const std::string words = std::string("x --stages '") + stages + "'";
    const Outcome refused = run_beside_server(words);
    EXPECT_NE(refused.code, 0);
    EXPECT_EQ(refused.code, run(words).code) << refused.err;
  }
}

}  // namespace
}  // namespace anemone::cli
