// SPDX-License-Identifier: Apache-2.0
// Values of flags from the environment and from the settings file.
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "cli/settings_file.h"
#include "tests/cli/process.h"

namespace anemone::cli {
namespace {

using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

TEST(SettingsFile, HasFlagsOfAllAndOfOneCommand) {
  const auto tables = parse_settings(
      "threads = 4\n[run]\nmax_new = 5 # tokens\nstop = [\"a\", 'b']\ntemperature = 0.7\ngreedy = "
      "true\n"
      "[cache.prune]\nmax-size = \"20gb\"\n",
      "f");
  ASSERT_TRUE(tables.ok()) << tables.status().message();
  EXPECT_EQ(tables->at("").at("threads").texts, std::vector<std::string>{"4"});
  const auto& run = tables->at("run");
  EXPECT_EQ(run.at("max-new").texts, std::vector<std::string>{"5"});
  EXPECT_EQ(run.at("stop").texts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(run.at("temperature").texts, std::vector<std::string>{"0.7"});
  EXPECT_TRUE(run.at("greedy").is_boolean);
  EXPECT_EQ(tables->at("cache.prune").at("max-size").texts, std::vector<std::string>{"20gb"});
}

TEST(SettingsFile, SaysWhereItIsWrong) {
  struct Case {
    const char* text;
    const char* part;
  };
  for (const Case& c : {Case{"a = 1\nb 2\n", "[f] line 2: expected TOML"},
                        {"a = 1\na = 2\n", "[f] line 2: expected TOML"},
                        {"max-new = 1\nmax_new = 2\n", "[max-new] expected the flag once"},
                        {"\nday = 2020-01-01\n", "[f] line 2: [day] expected a text"},
                        {"a = [[1]]\n", "[a] expected a text"},
                        {"a = [true]\n", "got a boolean"},
                        {"a = inf\n", "expected a finite number"},
                        {"a = \"x\\u0000y\"\n", "without a zero byte"}}) {
    const auto tables = parse_settings(c.text, "f");
    ASSERT_FALSE(tables.ok()) << c.text;
    EXPECT_EQ(tables.status().code(), Code::kInvalidArgument);
    EXPECT_NE(tables.status().message().find(c.part), std::string::npos)
        << tables.status().message();
  }
}

class SettingsOfCommands : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("ANEMONE_CACHE", folder_.file("cache").c_str(), 1);
    ::setenv("XDG_CONFIG_HOME", folder_.file("config").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("ANEMONE_CACHE");
    ::unsetenv("XDG_CONFIG_HOME");
  }
  void write(const std::string& text) const {
    std::filesystem::create_directories(folder_.file("config/anemone"));
    ASSERT_TRUE(write_file(file(), text).ok());
  }
  std::string file() const { return folder_.file("config/anemone/config.toml"); }

  // The threads that doctor uses.
  Json threads(const std::string& variables, const std::string& flags = "") const {
    const Outcome outcome = run_in("", variables + " ", "doctor --json " + flags);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto json = parse_json(outcome.out, "report");
    return json.ok() ? (*json)["threads"] : Json();
  }
  static void expect_refused(const Outcome& outcome, const std::string& error) {
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_EQ(outcome.err, "anemone: " + error + "\n");
  }

  TemporaryFolder folder_;
};

TEST_F(SettingsOfCommands, TheNearestCounts) {
  write("threads = 3\n");
  EXPECT_EQ(threads(""), 3);
  write("threads = 3\n[doctor]\nthreads = 4\n");
  EXPECT_EQ(threads(""), 4);
  EXPECT_EQ(threads("ANEMONE_THREADS="), 4);
  EXPECT_EQ(threads("ANEMONE_THREADS=5"), 5);
  EXPECT_EQ(threads("ANEMONE_THREADS=5 ANEMONE_DOCTOR_THREADS=6"), 6);
  EXPECT_EQ(threads("ANEMONE_THREADS=5 ANEMONE_RUN_THREADS=6"), 5);
  EXPECT_EQ(threads("ANEMONE_THREADS=5 ANEMONE_DOCTOR_THREADS=6", "-t 7"), 7);
  const std::string other = folder_.file("other.toml");
  ASSERT_TRUE(write_file(other, "threads = 8\n").ok());
  EXPECT_EQ(threads("", "--config '" + other + "'"), 8);
  EXPECT_EQ(threads("ANEMONE_CONFIG='" + other + "'"), 8);
}

// The tables of the file do the same.
TEST_F(SettingsOfCommands, VariablesOfACommandSetFlagsOfThoseBelowIt) {
  const auto is_json = [](const std::string& variables) {
    const Outcome outcome = run_in("", variables + " ", "cache list");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return parse_json(outcome.out, "list").ok();
  };
  EXPECT_TRUE(is_json("ANEMONE_CACHE_JSON=1"));
  EXPECT_FALSE(is_json("ANEMONE_CACHE_JSON=1 ANEMONE_CACHE_LIST_JSON=0"));
  EXPECT_TRUE(is_json("ANEMONE_CACHE_JSON=1 ANEMONE_JSON=0"));
  write("[cache.list]\njson = false\n");
  EXPECT_TRUE(is_json("ANEMONE_CACHE_JSON=1"));
}

TEST_F(SettingsOfCommands, FlagsWithoutValueAreSwitched) {
  const auto is_json = [](const std::string& variables) {
    const Outcome outcome = run_in("", variables + " ", "doctor");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out.starts_with("{");
  };
  EXPECT_TRUE(is_json("ANEMONE_JSON=yes"));
  EXPECT_FALSE(is_json("ANEMONE_JSON=0"));
  EXPECT_FALSE(is_json("ANEMONE_JSON=1 ANEMONE_DOCTOR_JSON=off"));
  expect_refused(run_in("", "ANEMONE_JSON=maybe ", "cache list"),
                 "[ANEMONE_JSON] expected true or false, got maybe");
}

TEST_F(SettingsOfCommands, RequiredFlagsAreThereAndLinesGoBeforeWhatTheyExclude) {
  const std::string checkpoint = source_path("tests/compiler/data/tiny/qwen2");
  const std::string artifact = folder_.file("artifact");
  const Outcome compiled =
      run_in("", "ANEMONE_OUTPUT='" + artifact + "' ANEMONE_CONTEXT=64 ", "compile " + checkpoint);
  EXPECT_EQ(compiled.code, 0) << compiled.err;
  EXPECT_TRUE(std::filesystem::exists(artifact + "/manifest.json"));
  write("[run]\ntemperature = 0.5\nraw = true\n");
  const std::string run = "run '" + artifact + "' --prompt-ids 1,2 --max-new 2 ";
  EXPECT_EQ(run_anemone(run + "--greedy").code, 0) << run_anemone(run + "--greedy").err;
}

TEST_F(SettingsOfCommands, ErrorsNameTheOrigin) {
  expect_refused(run_in("", "ANEMONE_THREADS=0 ", "cache list"),
                 "[ANEMONE_THREADS] expected 1 to 1024, got 0 (see anemone cache list --help)");
  write("[cache]\nthreads = 0\n");
  expect_refused(run_anemone("cache list"), "[cache.threads in " + file() +
                                                "] expected 1 to 1024, got 0 (see anemone cache "
                                                "list --help)");
  write("thread = 1\n");
  expect_refused(run_anemone("cache list"),
                 "[" + file() + "] expected a flag, got thread: did you mean threads?");
  write("[doctor]\nport = 1\n");
  expect_refused(run_anemone("cache list"), "[" + file() + "] expected a flag of doctor, got port");
  write("[serv]\nport = 1\n");
  expect_refused(run_anemone("cache list"),
                 "[" + file() + "] expected [serv] to be a command: did you mean serve?");
  // A key would be in the reach of everybody who reads the file.
  write("[serve]\napi-key = \"k\"\n");
  EXPECT_EQ(run_anemone("cache list").code, 2);
  // What tells how to mend it does not depend on it.
  EXPECT_EQ(run_anemone("serve --help").code, 0);
  EXPECT_EQ(run_anemone("version").code, 0);
  EXPECT_EQ(run_anemone("doctor --config /nonexistent").err,
            "anemone: [/nonexistent] cannot open: No such file or directory\n");
}

TEST_F(SettingsOfCommands, DoctorListsThem) {
  write("threads = 1\n[run]\nstop = [\"a\", \"b\"]\n");
  const Outcome outcome =
      run_in("", "ANEMONE_RUN_MAX_NEW=9 ANEMONE_SERVE_ARGUMENTS=x ANEMONE_API_KEY=of-the-server ",
             "doctor");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const std::string& part :
       {std::string("ANEMONE_RUN_MAX_NEW=9: --max-new of run"), file(), std::string("threads = 1"),
        std::string("run.stop = a, b"), std::string("1 thread is used"),
        std::string("ANEMONE_SERVE_ARGUMENTS=x: the arguments of the systemd unit")})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  EXPECT_EQ(outcome.out.find("of-the-server"), std::string::npos);
}

// One report names all that is wrong, and none of it stops the report.
TEST_F(SettingsOfCommands, DoctorSaysWhatIsWrongWithThem) {
  write(
      "thread = 1\n[run]\nmax-new = \"x\"\ntemperature = \"hot\"\ngreedy = 3\nseed = 7\n"
      "[serv]\nport = 1\n[serve]\nport = 70000\nlog-format = true\n[doctor]\nthreads = 0\n");
  const Outcome outcome =
      run_in("", "ANEMONE_SERVE_PROT=9 ANEMONE_TOP_K=-1 ANEMONE_RUN_CONTEXT=4k ", "doctor");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  const std::string place = " in " + file() + "] ";
  for (const std::string& part :
       {"[" + file() + "] expected a flag, got thread: did you mean threads?",
        "[run.max-new" + place + "expected a whole number of at least 0, got x",
        "[run.temperature" + place + "expected a number, got hot",
        "[run.greedy" + place + "expected true or false, got 3",
        "[" + file() + "] expected [serv] to be a command: did you mean serve?",
        "[serve.port" + place + "expected 0 to 65535, got 70000",
        "[serve.log-format" + place + "expected a value, got true",
        "[doctor.threads" + place + "expected 1 to 1024, got 0",
        std::string("[ANEMONE_SERVE_PROT] expected a variable that sets a flag, got another: did "
                    "you mean ANEMONE_SERVE_PORT?"),
        std::string("[ANEMONE_TOP_K] expected a whole number of at least 0, got -1")})
    EXPECT_NE(outcome.out.find("problem: " + part), std::string::npos) << part << "\n"
                                                                       << outcome.out;
  EXPECT_NE(outcome.err.find("expected no problem, got 10: "), std::string::npos) << outcome.err;
  write("a = \n");
  const Outcome broken = run_anemone("doctor");
  EXPECT_EQ(broken.code, 1);
  EXPECT_NE(broken.out.find("line 1: expected TOML"), std::string::npos) << broken.out;
}

// A flag of all commands has a variable under the name of each command, and a flag of a command one
// under the name of the command above it.
TEST_F(SettingsOfCommands, DoctorKnowsTheVariablesOfParentCommands) {
  const Outcome good = run_in(
      "", "ANEMONE_RUN_THREADS=2 ANEMONE_CACHE_JSON=1 ANEMONE_CACHE_PRUNE_ISA=plain ", "doctor");
  EXPECT_EQ(good.code, 0) << good.err;
  for (const char* part :
       {"ANEMONE_RUN_THREADS=2: --threads of run", "ANEMONE_CACHE_JSON=1: --json of cache",
        "ANEMONE_CACHE_PRUNE_ISA=plain: --isa of cache.prune"})
    EXPECT_NE(good.out.find(part), std::string::npos) << part << "\n" << good.out;
  // A wrong value of a flag of doctor itself does not stop the report.
  const Outcome wrong = run_in(
      "", "ANEMONE_DOCTOR_THREADS=0 ANEMONE_RUN_THREADS=many ANEMONE_CACHE_JSON=maybe ", "doctor");
  EXPECT_EQ(wrong.code, 1) << wrong.err;
  for (const char* part :
       {"[ANEMONE_DOCTOR_THREADS] expected 1 to 1024, got 0", "[ANEMONE_RUN_THREADS] expected ",
        "[ANEMONE_CACHE_JSON] expected true or "
        "false, got maybe"})
    EXPECT_NE(wrong.out.find(std::string("problem: ") + part), std::string::npos) << part << "\n"
                                                                                  << wrong.out;
}

TEST_F(SettingsOfCommands, DoctorNamesVariablesThatNoFlagHas) {
  const Outcome outcome = run_in(
      "", "ANEMONE_TRHEADS=2 ANEMONE_PROGRES=off ANEMONE_SERVE_API_KEY=of-the-server ", "doctor");
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  for (const char* part :
       {"problem: [ANEMONE_TRHEADS]", "did you mean ANEMONE_THREADS?", "problem: [ANEMONE_PROGRES]",
        "did you mean ANEMONE_PROGRESS?", "problem: [ANEMONE_SERVE_API_KEY]"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  EXPECT_EQ(outcome.out.find("of-the-server"), std::string::npos) << outcome.out;
}

TEST_F(SettingsOfCommands, ThoseThatAFlagExcludesAreLeftOut) {
  const std::string run =
      "run " + source_path("tests/compiler/data/tiny/qwen2") + " --max-new 1 --ignore-eos ";
  write("[run]\nsystem = \"You are X\"\nstop = \"END\"\n");
  // The settings are left out, so that the error is another one: the model has no tokenizer.
  const Outcome raw = run_anemone(run + "hi --raw");
  EXPECT_NE(raw.err.find("expected a model with a tokenizer.json"), std::string::npos) << raw.err;
  const Outcome ids = run_anemone(run + "--prompt-ids 1,2");
  EXPECT_EQ(ids.code, 0) << ids.err;
  expect_refused(run_anemone(run + "hi --raw --system X"),
                 "[--system] cannot be combined with --raw (see anemone run --help)");
}

}  // namespace
}  // namespace anemone::cli
