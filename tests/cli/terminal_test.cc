// SPDX-License-Identifier: Apache-2.0
// What a person sees at a terminal: chats, pastes, Ctrl-C, colors.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>

#include "base/file.h"
#include "tests/cli/process.h"
#include "tests/support/pseudo_terminal.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using anemone::testing::PseudoTerminal;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

constexpr std::string_view kAnswer = "17 + 25 = 42.";
#ifdef ANEMONE_HAS_LIBEDIT
constexpr bool kHasLibedit = true;
#else
constexpr bool kHasLibedit = false;
#endif

// One compiled pocket model for all tests of this file. Chats run with the editor of the build, and
// on a terminal that has none.
class Chats : public ::testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder();
    const Outcome outcome = run_anemone(fmt::format(
        "compile '{}' -o '{}' --for cpu", source_path("models/pocket/checkpoint"), model()));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string model() { return folder_->file("pocket"); }

  void start(std::vector<std::string> flags = {}) {
    std::vector<std::string> words = {ANEMONE_BINARY, "run", model()};
    words.insert(words.end(), flags.begin(), flags.end());
    terminal_.start(words,
                    {{"TERM", GetParam()}, {"NO_COLOR", "1"}, {"ANEMONE_HISTORY", history()}});
    ASSERT_TRUE(terminal_.wait_for("lists the commands")) << terminal_.output();
    expect_prompt();
  }
  void expect_prompt() { EXPECT_TRUE(terminal_.wait_for("> ")) << terminal_.output(); }
  void leave() {
    terminal_.type("/bye\n");
    const int status = terminal_.wait();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  static std::string history() { return folder_->file("history"); }

  PseudoTerminal terminal_{100};
  static TemporaryFolder* folder_;
};
TemporaryFolder* Chats::folder_ = nullptr;

TEST_P(Chats, AnswersAndShowsHowMuchOfTheContextIsUsed) {
  start();
  terminal_.type("What is 17 + 25?\n");
  EXPECT_TRUE(terminal_.wait_for(kAnswer)) << terminal_.output();
  EXPECT_TRUE(terminal_.wait_for("; context ")) << terminal_.output();
  expect_prompt();
  leave();
}

TEST_P(Chats, APasteOfSeveralLinesIsOneMessage) {
  start();
  // What a terminal sends for a paste, once the editor has asked for it; as lines without.
  const bool has_editor = kHasLibedit && GetParam() != std::string("dumb");
  EXPECT_EQ(terminal_.output().find("\033[?2004h") != std::string::npos, has_editor);
  terminal_.type(has_editor ? "\033[200~What is\r17 + 25?\033[201~\n" : "What is\n17 + 25?\n");
  EXPECT_TRUE(terminal_.wait_for("; context ")) << terminal_.output();
  expect_prompt();
  const std::string file = folder_->file(std::string("paste-") + GetParam());
  terminal_.type("/save " + file + "\n");
  EXPECT_TRUE(terminal_.wait_for("(saved to")) << terminal_.output();
  EXPECT_NE(contents(file).find("What is\\n17 + 25?"), std::string::npos) << contents(file);
  leave();
}

TEST_P(Chats, QuotesHoldSeveralLinesTogether) {
  start();
  terminal_.type("\"\"\"What is\n");
  EXPECT_TRUE(terminal_.wait_for("... "));
  terminal_.type("17 + 25?\"\"\"\n");
  EXPECT_TRUE(terminal_.wait_for("; context ")) << terminal_.output();
  leave();
}

TEST_P(Chats, CtrlCLeavesAMessageOfSeveralLines) {
  start();
  terminal_.type("\"\"\"What is\n");
  EXPECT_TRUE(terminal_.wait_for("... "));
  terminal_.type("\003");
  EXPECT_TRUE(terminal_.wait_for("(Ctrl-C again or Ctrl-D to leave)")) << terminal_.output();
  expect_prompt();
  leave();
}

TEST_P(Chats, ObeysCommands) {
  start();
  terminal_.type("/?\n");
  EXPECT_TRUE(terminal_.wait_for("/regenerate"));
  terminal_.type("/regenrate\n");
  EXPECT_TRUE(terminal_.wait_for("did you mean /regenerate?")) << terminal_.output();
  terminal_.type("/regenerate\n");
  EXPECT_TRUE(terminal_.wait_for("there is no answer yet"));
  terminal_.type("/set temprature 0.5\n");
  EXPECT_TRUE(terminal_.wait_for("did you mean temperature?")) << terminal_.output();
  terminal_.type("/set top-p 7\n");
  EXPECT_TRUE(terminal_.wait_for("[top-p] expected 0 to 1, got 7")) << terminal_.output();
  terminal_.type("/set max-new 3\n");
  EXPECT_TRUE(terminal_.wait_for("(max-new 3)")) << terminal_.output();
  terminal_.type("What is 17 + 25?\n");
  EXPECT_TRUE(terminal_.wait_for("[3 tokens")) << terminal_.output();
  EXPECT_TRUE(terminal_.wait_for("(max-new ends the answer here)")) << terminal_.output();
  terminal_.type("/set max-new\n");
  EXPECT_TRUE(terminal_.wait_for("(max-new 3)")) << terminal_.output();
  terminal_.type("/set\n");
  EXPECT_TRUE(terminal_.wait_for("model ")) << terminal_.output();
  EXPECT_TRUE(terminal_.wait_for("repetition-penalty 1, as the model has it"))
      << terminal_.output();
  terminal_.type("/set max-new default\n");
  EXPECT_TRUE(terminal_.wait_for("(max-new until the answer ends, as the model has it)"))
      << terminal_.output();
  terminal_.type("/regenerate\n");
  EXPECT_TRUE(terminal_.wait_for(kAnswer)) << terminal_.output();
  EXPECT_TRUE(terminal_.wait_for("; context "));
  const std::string file = folder_->file(std::string("chat-") + GetParam());
  terminal_.type("/save " + file + "\n");
  EXPECT_TRUE(terminal_.wait_for("(saved to"));
  // A conversation may be overwritten, and nothing else.
  terminal_.type("/save " + file + "\n");
  EXPECT_TRUE(terminal_.wait_for("(saved to"));
  const std::string notes = folder_->file(std::string("notes-") + GetParam());
  ASSERT_TRUE(write_file(notes, "mine").ok());
  terminal_.type("/save " + notes + "\n");
  EXPECT_TRUE(terminal_.wait_for("is not overwritten")) << terminal_.output();
  EXPECT_EQ(contents(notes), "mine");
  terminal_.type("/reset\n");
  EXPECT_TRUE(terminal_.wait_for("(forgotten)"));
  terminal_.type("/load " + file + "\n");
  EXPECT_TRUE(terminal_.wait_for("(2 messages of")) << terminal_.output();
  terminal_.type("/load /nonexistent\n");
  EXPECT_TRUE(terminal_.wait_for("[/nonexistent]")) << terminal_.output();
  leave();
}

TEST_P(Chats, CtrlCAtThePromptAsksAndThenEndsAsTheSignalDoes) {
  start();
  terminal_.type("\003");
  EXPECT_TRUE(terminal_.wait_for("(Ctrl-C again or Ctrl-D to leave)")) << terminal_.output();
  expect_prompt();
  terminal_.type("\003");
  EXPECT_TRUE(terminal_.wait_for("anemone: interrupted")) << terminal_.output();
  const int status = terminal_.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
}

TEST_P(Chats, CtrlCStopsAnAnswerAndTheChatGoesOn) {
  start({"--ignore-eos", "--greedy"});
  terminal_.type("What is 17 + 25?\n");
  EXPECT_TRUE(terminal_.wait_for("= 42"));
  terminal_.type("\003");
  EXPECT_TRUE(terminal_.wait_for("(stopped)")) << terminal_.output();
  expect_prompt();
  leave();
}

TEST_P(Chats, WhatIsTypedDuringAnAnswerDoesNotMixWithIt) {
  start({"--ignore-eos", "--greedy"});
  terminal_.type("What is 17 + 25?\n");
  EXPECT_TRUE(terminal_.wait_for("= 42"));
  const std::size_t before = terminal_.output().size();
  terminal_.type("zzz");
  terminal_.read_for(150ms);
  // On a quick machine the answer ends within that time, and the next prompt shows what was typed.
  std::string answer = terminal_.output().substr(before);
  answer.resize(std::min(answer.size(), answer.find("; context ")));
  EXPECT_EQ(answer.find("zzz"), std::string::npos) << terminal_.output();
  terminal_.type("\003");
  expect_prompt();
}

TEST_P(Chats, AFullConversationSaysWhatToDo) {
  start({"--max-new", "40"});
  std::string question = "What is 17 + 25?";
  while (question.size() < 3000) question += " What is 17 + 25?";
  terminal_.type("\"\"\"\n");
  for (std::size_t at = 0; at < question.size(); at += 500)
    terminal_.type(question.substr(at, 500) + "\n");
  terminal_.type("\"\"\"\n");
  EXPECT_TRUE(terminal_.wait_for("/reset begins anew")) << terminal_.output();
  leave();
}

INSTANTIATE_TEST_SUITE_P(Editors, Chats, ::testing::Values("xterm", "dumb"));

class Terminals : public Chats {};

TEST_P(Terminals, AHistoryOutlivesTheSession) {
  fs::remove(history());
  start();
  if (!kHasLibedit) GTEST_SKIP() << "built without libedit";
  terminal_.type("What is 17 + 25?\n");
  EXPECT_TRUE(terminal_.wait_for("; context "));
  leave();
  EXPECT_EQ(fs::status(history()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  PseudoTerminal second(100);
  second.start({ANEMONE_BINARY, "run", model()},
               {{"TERM", GetParam()}, {"NO_COLOR", "1"}, {"ANEMONE_HISTORY", history()}});
  EXPECT_TRUE(second.wait_for("> "));
  second.type("\033[A");  // the last one is /bye
  EXPECT_TRUE(second.wait_for("/bye")) << second.output();
  second.type("\033[A");
  EXPECT_TRUE(second.wait_for("17 + 25?")) << second.output();
  second.type("\n");
  EXPECT_TRUE(second.wait_for(kAnswer)) << second.output();
}

// The command ends as the signal ends a process, which is what ends a loop of the shell.
TEST_P(Terminals, CtrlCEndsAShellLoop) {
  terminal_.start({"/bin/bash", "-c",
                   fmt::format("while :; do echo begin; '{}' run '{}' --raw a --max-new 400 "
                               "--ignore-eos --greedy; done",
                               ANEMONE_BINARY, model())});
  // In the middle of an answer: between two commands the shell alone gets the signal.
  EXPECT_TRUE(terminal_.wait_for("aaaa"));
  terminal_.type("\003");
  EXPECT_TRUE(terminal_.wait_for("anemone: interrupted")) << terminal_.output();
  const int status = terminal_.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
}

TEST_P(Terminals, CtrlCEndsEveryPhase) {
  const TemporaryFolder cache;
  const std::string checkpoint = source_path("models/pocket/checkpoint");
  const std::vector<std::string> commands[] = {
      {"run", checkpoint, "hello"},
      {"compile", checkpoint, "-o", cache.file("out"), "--jobs", "1"},
      {"run", model(), "--raw", "a", "--max-new", "2000", "--ignore-eos"},
      {"verify", model(), "--against", checkpoint},
      {"tokenize", "--model", checkpoint, "-"}};
  for (const auto& words : commands)
    for (const auto pause : {30ms, 150ms, 400ms}) {
      SCOPED_TRACE(fmt::format("{} after {} ms", words.front(), pause.count()));
      PseudoTerminal terminal;
      std::vector<std::string> all = {ANEMONE_BINARY};
      all.insert(all.end(), words.begin(), words.end());
      terminal.start(all, {{"ANEMONE_CACHE", cache.file("cache")}});
      terminal.read_for(pause);
      ::kill(terminal.pid(), SIGINT);
      const int status = terminal.wait();
      // It may have been too early to be caught, or too late to matter.
      EXPECT_TRUE((WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) ||
                  (WIFEXITED(status) && WEXITSTATUS(status) == 0))
          << status << terminal.output();
    }
}

TEST_P(Terminals, ErrorsHaveColorWhereItIsWanted) {
  const std::string colored = "\033[1;31manemone:\033[0m ";
  const auto shown = [](std::vector<std::string> words,
                        std::vector<std::pair<std::string, std::string>> variables) {
    PseudoTerminal terminal;
    words.insert(words.begin(), ANEMONE_BINARY);
    terminal.start(words, variables);
    terminal.wait();
    return terminal.output();
  };
  EXPECT_TRUE(shown({"teleport"}, {}).starts_with(colored));
  EXPECT_TRUE(shown({"teleport"}, {{"NO_COLOR", "1"}}).starts_with("anemone: "));
  EXPECT_TRUE(shown({"inspect", "/nonexistent", "--color", "never"}, {}).starts_with("anemone: "));
  EXPECT_TRUE(run_anemone("--color always inspect /nonexistent").err.starts_with(colored));
}

// The answer has 13 columns.
TEST_P(Terminals, AnAnswerBreaksLinesBetweenWords) {
  const auto shown = [](int columns) {
    PseudoTerminal terminal(columns);
    terminal.start({ANEMONE_BINARY, "run", model(), "What is 17 + 25?"});
    terminal.wait();
    return terminal.output();
  };
  EXPECT_NE(shown(12).find("17 + 25 =\r\n42.\r\n"), std::string::npos) << shown(12);
  for (const int columns : {13, 0})
    EXPECT_NE(shown(columns).find("17 + 25 = 42.\r\n"), std::string::npos) << shown(columns);
  // A pipe has no width.
  EXPECT_EQ(run_in("", "COLUMNS=12 ", "run '" + model() + "' 'What is 17 + 25?'").out,
            "17 + 25 = 42.\n");
}

TEST_P(Terminals, AChatBreaksLinesBetweenWords) {
  start();
  terminal_.resize(12);
  terminal_.type("What is 17 + 25?\n");
  EXPECT_TRUE(terminal_.wait_for("17 + 25 =\r\n42.\r\n")) << terminal_.output();
  leave();
}

// A context of few tokens, and more turns than fit.
TEST_P(Terminals, AFullConversationForgetsItsOldestTurnsWhereThatIsAskedFor) {
  const TemporaryFolder cache;
  const std::string before = "ANEMONE_CACHE='" + cache.file("cache") + "' ";
  const std::string run =
      "run " + source_path("models/pocket/checkpoint") + " -c 96 -n 24 --greedy";
  std::string turns;
  for (int i = 0; i < 8; ++i) turns += "What is 17 + 25?\n";
  const Outcome kept = run_in("", before, run + " --keep-system", turns);
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_EQ(std::count(kept.out.begin(), kept.out.end(), '\n'), 8) << kept.out;
  EXPECT_EQ(kept.err, "(the context is full: from now on the oldest turns are forgotten)\n");
  // A message that does not fit by itself costs no turn that was said before.
  const Outcome much = run_in("", before, run + " --keep-system --json",
                              "What is 17 + 25?\n" + std::string(900, 'x') + "\n");
  EXPECT_EQ(much.code, 2);
  EXPECT_NE(much.err.find("this message takes more than the 96 tokens"), std::string::npos)
      << much.err;
  const Outcome full = run_in("", before, run, turns);
  EXPECT_EQ(full.code, 2);
  EXPECT_NE(full.err.find("the 96 tokens of the context: /reset begins anew"), std::string::npos)
      << full.err;
}

INSTANTIATE_TEST_SUITE_P(All, Terminals, ::testing::Values("xterm"));

}  // namespace
}  // namespace anemone::cli
