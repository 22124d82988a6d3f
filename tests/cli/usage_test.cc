// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>

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
  for (const char* arguments : {"--version", "-V", "version"}) {
    const Outcome outcome = run_anemone(arguments);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_TRUE(outcome.out.starts_with("anemone ")) << outcome.out;
  }
}

TEST(Usage, HelpIsACommandToo) {
  const std::string all = run_anemone("--help").out;
  EXPECT_EQ(run_anemone("").out, all);
  EXPECT_EQ(run_anemone("help").out, all);
  EXPECT_EQ(run_anemone("help run").out, run_anemone("run --help").out);
  EXPECT_EQ(run_anemone("help cache prune").out, run_anemone("cache prune --help").out);
}

// A terminal of 80 columns shows each line as a line.
TEST(Usage, HelpFitsEightyColumnsAndSaysWhichOptionsEveryCommandTakes) {
  for (const char* command :
       {"",        "pull",       "compile",  "verify",      "run",           "serve", "inspect",
        "check",   "predict",    "export",   "tokenize",    "chat-template", "bench", "doctor",
        "cache",   "cache list", "cache rm", "cache prune", "cache clear",   "probe", "help",
        "version", "embed",      "selftest"}) {
    SCOPED_TRACE(command);
    const std::string help = run_anemone(std::string(command) + " --help").out;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      const bool is_one_word = line.find(' ', line.find_first_not_of(' ')) > 80;
      EXPECT_TRUE(line.size() <= 80 || is_one_word) << line.size() << ": " << line;
    }
    if (*command != '\0') {
      EXPECT_NE(help.find("Every command also takes -t,--threads"), help.npos) << help;
    }
  }
}

// What shells and man(1) show is made from the command line.
TEST(Usage, CompletionsAndPagesHaveEveryCommandAndFlag) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    SCOPED_TRACE(shell);
    const Outcome outcome = run_anemone(std::string("completions ") + shell);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (const char* word : {"chat-template", "keep-system", "prune", "max-size", "threads"})
      EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(std::system("'" ANEMONE_BINARY "' completions bash | bash -n"), 0);
  const Outcome other = run_anemone("completions tcsh");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("[SHELL] expected bash, zsh or fish, got tcsh"), std::string::npos)
      << other.err;
  const testing::TemporaryFolder folder;
  ASSERT_EQ(run_anemone("man " + folder.file("man1")).code, 0);
  const std::string page = contents(folder.file("man1/anemone-run.1"));
  for (const char* part : {".B anemone run\n[OPTIONS] MODEL [PROMPT]\n", ".SH EXAMPLES\n",
                           ".SH EXIT STATUS\n", ".SH ENVIRONMENT\n", ".SH FILES\n",
                           ".SH SEE ALSO\n.BR anemone (1)\n", ".B \\-\\-top\\-k \\fIN\\fR\n"})
    EXPECT_NE(page.find(part), std::string::npos) << part << page;
  EXPECT_NE(contents(folder.file("man1/anemone.1")).find(".BR anemone\\-run (1)"),
            std::string::npos);
  const std::size_t examples = page.find(".SH EXAMPLES");
  std::istringstream lines(page.substr(examples, page.find(".SH EXIT STATUS") - examples));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_TRUE(page.starts_with(".TH \"anemone-run\" 1 ")) << page;
  EXPECT_NE(page.find(".B \\-\\-keep\\-system"), std::string::npos) << page;
  EXPECT_TRUE(std::filesystem::exists(folder.file("man1/anemone.1")));
  // Commands within a command stand in its page.
  const std::string inner = contents(folder.file("man1/anemone-cache.1"));
  EXPECT_NE(inner.find(".SS prune\n"), std::string::npos) << inner;
  EXPECT_NE(inner.find(".B \\-\\-max\\-size"), std::string::npos) << inner;
}

TEST(Usage, HelpHasEveryExitCode) {
  const Outcome outcome = run_anemone("help exit-codes");
  EXPECT_EQ(outcome.code, 0);
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code) {
    const std::string row = fmt::format("\n  {:>3}  ", exit_code(static_cast<Code>(code)));
    EXPECT_NE(outcome.out.find(row), std::string::npos) << row << outcome.out;
  }
  const testing::TemporaryFolder folder;
  ASSERT_EQ(run_anemone("man " + folder.file("man1")).code, 0);
  const std::string page = contents(folder.file("man1/anemone.1"));
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    EXPECT_NE(outcome.out.find(fmt::format("\n  {}  ", 128 + signal)), std::string::npos) << signal;
    EXPECT_NE(page.find(fmt::format(".TP\n.B {}\n", 128 + signal)), std::string::npos) << signal;
  }
}

TEST(Usage, ShortFlagsAreThoseOfLlamaCpp) {
  const std::string model = testing::source_path("tests/compiler/data/tiny/qwen3");
  const testing::TemporaryFolder cache;
  const std::string before = "ANEMONE_CACHE='" + cache.file("cache") + "' ";
  const Outcome outcome =
      run_in("", before, "run -m " + model + " --prompt-ids '1 2' -n 2 -c 32 -t 1 --ignore-eos");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Outcome list = run_in("", before, "cache list");
  EXPECT_NE(list.out.find("32 tokens"), std::string::npos) << list.out;
}

TEST(Usage, ErrorsAreOneLineWithAHintAndExitTwo) {
  const std::pair<const char*, const char*> cases[] = {
      {"--verbose", "anemone: expected a command, got none (see anemone --help)\n"},
      {"teleport", "anemone: [teleport] no such command of anemone (see anemone --help)\n"},
      {"serv x", "[serv] no such command of anemone: did you mean serve? (see anemone --help)\n"},
      {"chat x", "[chat] no such command of anemone: did you mean run? (see anemone --help)\n"},
      {"ls", "did you mean cache list? (see"},
      {"help comple", "[comple] no such command of anemone: did you mean compile? (see"},
      {"cache lst", "[lst] no such command of anemone cache: did you mean list? (see"},
      {"cache", "[anemone cache] expected list, rm, prune or clear, got none of them (see"},
      {"inspect", "anemone: [FILE] expected a value, got none (see anemone inspect --help)\n"},
      {"inspect --teleport x",
       "[--teleport] no such option of anemone inspect (see anemone inspect --help)\n"},
      {"run x --temprature 1",
       "[--temprature] no such option of anemone run: did you mean --temperature? (see"},
      {"run x --ctx-size 4096",
       "[--ctx-size] no such option of anemone run: did you mean --context?"},
      {"compile x -o y --quantize lut4", "did you mean --quant? (see"},
      {"run --hlep", "[--hlep] no such option of anemone run: did you mean --help? (see"},
      {"compile x", "[--output] is missing: expected -o or --output with a value (see"},
      {"serve x --cert y", "[--cert] no such option of anemone serve: did you mean --tls-cert?"},
      {"serve x --listen y", "did you mean --host? (see"},
      {"serve x --host 127.0.0.1:9000",
       "[--host] expected an address without a port, got 127.0.0.1:9000 (--port sets it)"},
      {"serve x --cors foo", "[--cors] expected * or an origin such as https://"},
      {"serve x --cors https://a.b/", "without a path, got https://a.b/"},
      {"run x hi --file y", "[--prompt] cannot be combined with --file (see"},
      {"run x --seed", "[--seed] expected a value, got none (see anemone run --help)\n"},
      {"run x --temperature hot", "[--temperature] expected a number, got hot (see"},
      {"run x --regex a --json-schema b", "[--json-schema] cannot be combined with --regex (see"},
      {"run x --stages a --choice b", "[--choice] cannot be combined with --stages (see"},
      {"--color pink doctor", "[--color] expected auto, always or never, got pink (see"},
      {"run x y z",
       "[z] expected no further argument of anemone run; quotes keep a text together (see"},
      {"run x -c 4q", "[--context] expected 1 to 16777216, got 4q (see"},
      {"cache prune --max-size big", "[--max-size] expected a size, as 500MB or 20GB, got big"},
      {"predict", "anemone: expected a package, got none (see anemone predict --help)\n"},
      {"predict p.mlpackage",
       "anemone: expected --input NAME=VALUE, --inputs FILE or --fill, got none (see anemone "
       "predict --help)\n"},
      {"--threads 0 inspect x", "(see anemone"},
      {"--threads many inspect x", "(see anemone"},
      {"inspect a b", "(see anemone inspect --help)\n"},
      {"run x --seed 99999999999999999999",
       "[--seed] expected a whole number that 64 bits with a "},
      {"run x --max-new -4", "[--max-new] expected a whole number of at least 0, got -4 (see"},
      {"run x --top-k 3.5", "[--top-k] expected a whole number of at least 0, got 3.5 (see"},
      {"serve x --max-tokens 0",
       "[--max-tokens] expected a whole number of at least 1, got 0 (see"},
      {"serve x --temperature nan", "[--temperature] expected 0 to 2, got nan (see"},
      {"serve x --port 70000", "[--port] expected 0 to 65535, got 70000 (see"},
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
      // The name of the place, if it has one.
      EXPECT_NE(outcome.err.find(option_name(*option)), std::string::npos) << outcome.err;
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
