// SPDX-License-Identifier: Apache-2.0
// What the shells complete after a flag.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <string>

#include "base/file.h"
#include "cli/command.h"
#include "tests/cli/process.h"

namespace anemone::cli {
namespace {

// What bash offers for the last of these words of a line, in a folder with one file, model.gguf.
std::string bash_offers(const std::string& words) {
  const testing::TemporaryFolder folder;
  EXPECT_TRUE(write_file(folder.file("model.gguf"), "").ok());
  const std::string script = fmt::format(
      "cd '{}'; source <('{}' completions bash); COMP_WORDS=({}); "
      "COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _anemone; echo \"${{COMPREPLY[*]}}\"",
      folder.file(""), ANEMONE_BINARY, words);
  EXPECT_TRUE(write_file(folder.file("script"), script).ok());
  const std::string out = folder.file("out");
  EXPECT_EQ(std::system(fmt::format("bash '{}' >'{}'", folder.file("script"), out).c_str()), 0);
  std::string text = contents(out);
  if (!text.empty()) text.pop_back();
  return text;
}

TEST(Completions, BashOffersTheWordsOfAFlag) {
  const std::pair<const char*, const char*> cases[] = {
      {"anemone compile x --quant lut", "lut4 lut6 lut8"},
      {"anemone compile x --quant = lut", "lut4 lut6 lut8"},
      {"anemone compile --kv-form ''", "blend readonly slice growing"},
      {"anemone compile --target ios1", "ios16 ios17 ios18"},
      {"anemone compile --form por", "portable"},
      {"anemone check --chip m4-", "m4-pro m4-max"},
      {"anemone serve x --log-format ''", "text json none"},
      {"anemone serve x --color a", "auto always"},
      {"anemone --color = al", "always"},
      {"anemone --executor ''", "cpu coreml"},
      {"anemone --executor cpu comp", "compile completions"},
      {"anemone --executor = cpu comp", "compile completions"},
      {"anemone embed x --pooling ''", "last mean"},
      {"anemone export x --dtype b", "bf16"},
      {"anemone selftest --quant l", "lut6"},
      {"anemone probe --only cache-b", "cache-blend"},
      {"anemone compile x --quant-for he", "head="},
      {"anemone compile x --quant-for = he", "head="},
      {"anemone compile x --quant-for head = lut", "lut4 lut6 lut8"},
      {"anemone compile x --quant-for = head = lut", "lut4 lut6 lut8"},
      {"anemone compile x --quant-for head = lut4 --form por", "portable"}};
  for (const auto& [words, offers] : cases) EXPECT_EQ(bash_offers(words), offers) << words;
}

TEST(Completions, BashOffersFilesWhereAFlagTakesThem) {
  EXPECT_EQ(bash_offers("anemone run x --file mod"), "model.gguf");
  EXPECT_EQ(bash_offers("anemone compile --form mod"), "model.gguf");
  EXPECT_EQ(bash_offers("anemone run mod"), "model.gguf");
  EXPECT_EQ(bash_offers("anemone run x --top-k mod"), "") << "a number";
  EXPECT_EQ(bash_offers("anemone run x -n mod"), "") << "a number";
  EXPECT_EQ(bash_offers("anemone predict x --input a = mod"), "model.gguf");
  EXPECT_EQ(bash_offers("anemone compile x --quant mod"), "") << "words";
  EXPECT_EQ(bash_offers("anemone cache prune --max-s"), "--max-size");
}

TEST(Completions, ZshAndFishHaveTheWordsToo) {
  const std::string zsh = run_anemone("completions zsh").out;
  for (const char* part :
       {":value:(auto always never)'", ":value:(text json none)'", ":value:{compadd - portable ",
        "; _files}'", ":value:{if compset -P \"*=\"; then compadd - none ",
        "; else compadd -S \"=\" - qkv "})
    EXPECT_NE(zsh.find(part), std::string::npos) << part;
  const std::string fish = run_anemone("completions fish").out;
  for (const char* part :
       {" -l color -x -a 'auto always never' ", " -l log-format -x -a 'text json none' ",
        " -l form -r -a 'portable ", " -l quant-for -x -a '{qkv,", ",head,embedding}={none,",
        " -l only -x -a 'cache-", " -l top-k -x -d ", " -l file -r -d "})
    EXPECT_NE(fish.find(part), std::string::npos) << part;
  for (const char* shell : {"zsh", "fish"}) {
    const std::string check =
        fmt::format("command -v {0} >/dev/null || exit 0; '{1}' completions {0} | {0} -n", shell,
                    ANEMONE_BINARY);
    EXPECT_EQ(std::system(check.c_str()), 0) << shell;
  }
}

// Each word that is offered is one that the flag takes.
TEST(Completions, CompileTakesWhatIsOffered) {
  const std::string model = testing::source_path("tests/compiler/data/tiny/qwen3");
  CLI::App app;
  Context context;
  add_compile_command(app, context);
  int asked = 0;
  const auto offered = [](const Context::KnownWords& known) {
    if (known.after_equals.empty()) return known.words;
    std::vector<std::string> out;
    for (const std::string& name : known.words)
      for (const std::string& word : known.after_equals)
        out.push_back(fmt::format("{}={}", name, word));
    return out;
  };
  for (const auto& [option, known] : context.words)
    for (const std::string& word : offered(known)) {
      const Outcome outcome = run_anemone(fmt::format(
          "compile {} -o /nonexistent/x --dry-run {} {}", model, option->get_name(), word));
      EXPECT_EQ(outcome.err.find("[" + option->get_name() + "] expected"), std::string::npos)
          << outcome.err;
      ++asked;
    }
  EXPECT_GT(asked, 80);
}

}  // namespace
}  // namespace anemone::cli
