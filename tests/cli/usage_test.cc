// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "cli/command.h"
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
  for (const char* arguments : {"--help", "predict --help", "inspect --help", "check --help"}) {
    const Outcome outcome = run_anemone(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments;
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find("Usage:"), std::string::npos) << outcome.out;
  }
  EXPECT_NE(run_anemone("predict --help").out.find("Examples:"), std::string::npos);
}

// Nothing is read: the model need not be there.
TEST(Usage, WhatNeedsCoreMlSaysSoWhereThereIsNone) {
#if defined(__APPLE__)
  GTEST_SKIP() << "Core ML is there";
#endif
  for (const char* arguments : {"run x --require-ane", "serve x --require-ane"}) {
    const Outcome outcome = run_anemone(arguments);
    expect_one_line(outcome, 4);
    EXPECT_NE(outcome.err.find("[--require-ane] expected Core ML, which needs macOS 15"),
              std::string::npos)
        << outcome.err;
  }
  const Outcome outcome = run_anemone("selftest --executor coreml");
  expect_one_line(outcome, 4);
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
      {"run x --seed 99999999999999999999", "--seed: expected a whole number that 64 bits with a "},
      {"run x --max-new -4", "--max-new: expected a whole number of at least 0, got -4 (see"},
      {"run x --top-k 3.5", "--top-k: expected a whole number of at least 0, got 3.5 (see"},
      {"serve x --max-tokens 0", "--max-tokens: expected a whole number of at least 1, got 0 (see"},
      {"serve x --temperature nan", "--temperature: expected 0 to 2, got nan (see"},
      {"serve x --port 70000", "--port: expected 0 to 65535, got 70000 (see"},
  };
  for (const auto& [arguments, hint] : cases) {
    SCOPED_TRACE(arguments);
    const Outcome outcome = run_anemone(arguments);
    expect_one_line(outcome, 2);
    EXPECT_NE(outcome.err.find(hint), std::string::npos) << outcome.err;
  }
}

// --api-key-file "$UNSET" must not count as a flag that was not there.
TEST(Usage, NoFlagThatNamesSomethingTakesAnEmptyValue) {
  struct Command {
    void (*add)(CLI::App& app, Context& context);
    std::string words;  // with all that it requires, and nothing that is there
  };
  const Command commands[] = {{add_bench_command, "bench /nonexistent"},
                              {add_chat_template_command, "chat-template"},
                              {add_check_command, "check /nonexistent"},
                              {add_compile_command, "compile /nonexistent -o x"},
                              {add_doctor_command, "doctor"},
                              {add_embed_command, "embed /nonexistent"},
                              {add_inspect_command, "inspect /nonexistent"},
                              {add_predict_command, "predict /nonexistent --inputs x --outputs y"},
                              {add_export_command, "export /nonexistent -o x"},
                              {add_pull_command, "pull x"},
                              {add_run_command, "run /nonexistent"},
                              {add_serve_command, "serve /nonexistent"},
                              {add_tokenize_command, "tokenize --model /nonexistent"},
                              {add_verify_command, "verify /nonexistent --against x"}};
  int asked = 0;
  for (const Command& command : commands) {
    CLI::App app;
    Context context;
    command.add(app, context);
    for (const CLI::Option* option : app.get_subcommands({}).front()->get_options()) {
      const std::string name = option->get_name();
      if (option->get_items_expected_max() == 0 || option->get_required() ||
          !name.starts_with("--") || context.texts.contains(option))
        continue;
      SCOPED_TRACE(command.words + " " + name);
      const Outcome outcome = run_anemone(command.words + " " + name + " ''");
      expect_one_line(outcome, 2);
      EXPECT_NE(outcome.err.find(name), std::string::npos) << outcome.err;
      ++asked;
    }
  }
  EXPECT_GT(asked, 60);
  const std::pair<const char*, const char*> required[] = {
      {"--isa '' doctor", "--isa"},
      {"inspect ''", "FILE"},
      {"check ''", "FILE"},
      {"run ''", "MODEL"},
      {"serve ''", "MODEL"},
      {"serve a ''", "MODEL"},
      {"bench ''", "DIR"},
      {"doctor ''", "DIR"},
      {"predict ''", "PKG"},
      {"predict p --inputs x --outputs ''", "--outputs"},
      {"export /nonexistent -o ''", "--output"},
      {"compile /nonexistent -o ''", "--output"},
      {"verify x --against ''", "--against"},
      {"tokenize --model ''", "--model"}};
  for (const auto& [words, name] : required) {
    SCOPED_TRACE(words);
    const Outcome outcome = run_anemone(words);
    expect_one_line(outcome, 2);
    EXPECT_NE(outcome.err.find(std::string("[") + name + "] expected a value, got an empty one"),
              std::string::npos)
        << outcome.err;
  }
}

TEST(Usage, ATextMayBeEmpty) {
  for (const char* words : {"run /nonexistent ''", "run /nonexistent x --system ''",
                            "tokenize --model /nonexistent ''"})
    expect_one_line(run_anemone(words), 5);
}

TEST(Usage, StdinThatCannotBeReadIsNotEmpty) {
  const std::string model = testing::source_path("models/pocket/checkpoint");
  for (const std::string& words :
       {"tokenize --model " + model + " -", "tokenize --model " + model + " --stdin-jsonl",
        "chat-template --model " + model, std::string("predict --serve")}) {
    SCOPED_TRACE(words);
    const Outcome outcome = run_in("", R"(sh -c '"$0" "$@" </' )", words);
    expect_one_line(outcome, 5);
    EXPECT_NE(outcome.err.find("cannot read"), std::string::npos) << outcome.err;
  }
}

TEST(Usage, AWorkingDirectoryThatIsGoneIsNoBug) {
  const testing::TemporaryFolder folder;
  const std::string model = testing::source_path("models/pocket/checkpoint");
  const std::string tiny = testing::source_path("tests/compiler/data/tiny/qwen3");
  std::filesystem::create_directory(folder.file("artifacts"));
  const std::string artifact = folder.file("artifacts/tiny");
  ASSERT_EQ(run_anemone("compile " + tiny + " -o " + artifact).code, 0);
  const std::pair<std::string, int> cases[] = {
      {"export " + model + " -o x", 5},
      {"export " + model + " -o " + folder.file("x.safetensors"), 0},
      {"run " + artifact + " --prompt-ids 1 --max-new 1 --logits-out l", 5},
      {"bench " + artifact + " --plot p.svg", 5},
      {"compile " + model + " -o x", 5},
      {"verify " + artifact + " --against x", 5},
      {"serve " + artifact + " --port 0 --ready-file r", 5},
      {"predict p --inputs x --outputs y", 5},
      {"inspect .", 4},
      {"check .", 4},
      {"doctor", 0}};
  for (const auto& [words, code] : cases) {
    SCOPED_TRACE(words);
    const std::string gone = folder.file("gone");
    std::filesystem::create_directory(gone);
    const Outcome outcome = run_in(gone, "rmdir '" + gone + "' && ", words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
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
