// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

#include "tests/cli/process.h"
#include "tests/support/pseudo_terminal.h"

namespace anemone::cli {
namespace {

using anemone::testing::PseudoTerminal;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

TEST(Table, AlignsColumnsAndLeavesNoSpacesAtTheEnd) {
  EXPECT_EQ(table({{"a", "bb", ""}, {"ccc", "d", "e"}}, "  "), "  a    bb\n  ccc  d   e\n");
  EXPECT_EQ(table({}, "  "), "");
}

TEST(Table, FoldsTheWidestCellsBetweenWords) {
  const Rows rows = {{"name", "one two three four", "12 kB"}, {"x", "five", "1 kB"}};
  EXPECT_EQ(folded(rows, 31), rows);
  EXPECT_EQ(folded(rows, 26),
            (Rows{{"name", "one two three", "12 kB"}, {"", "four", ""}, {"x", "five", "1 kB"}}));
  EXPECT_EQ(folded(rows, 20), (Rows{{"name", "one two", "12 kB"},
                                    {"", "three", ""},
                                    {"", "four", ""},
                                    {"x", "five", "1 kB"}}));
}

TEST(Table, BreaksNoWord) {
  const Rows rows = {{"layers_00_05.mlpackage decode", "word"}, {"a"}};
  EXPECT_EQ(folded(rows, 10), (Rows{{"layers_00_05.mlpackage", "word"}, {"decode", ""}, {"a"}}));
  EXPECT_EQ(folded({{std::string(100'000, 'x')}}, 10), (Rows{{std::string(100'000, 'x')}}));
}

// What a terminal of 80 columns shows: no line is wider, so that the terminal breaks none.
class Terminal80 : public ::testing::Test {
 protected:
  static std::string shown(const std::vector<std::string>& arguments) {
    PseudoTerminal terminal(80);
    std::vector<std::string> words = {ANEMONE_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    terminal.start(words, {{"TERM", "dumb"}});
    terminal.wait();
    std::string out = terminal.output();
    std::erase(out, '\r');
    return out;
  }
  // Lines with a path may be longer: the first one of a report, and the command to try.
  static void expect_fits(const std::string& out) {
    std::istringstream lines(out);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      const bool has_path =
          line.starts_with("  anemone predict") || line.find("checked against") != line.npos;
      EXPECT_TRUE(has_path || line.size() <= 80U) << line;
    }
  }
};

TEST_F(Terminal80, ReportsOfPackagesFit) {
  const TemporaryFolder folder;
  const std::string model = folder.file("m");
  const std::string checkpoint = source_path("models/pocket/checkpoint");
  const std::string dry =
      shown({"compile", checkpoint, "-o", model, "--dry-run", "--report", "--quant", "int4-block"});
  EXPECT_NE(dry.find("form: portable\n"), std::string::npos) << dry;
  EXPECT_NE(dry.find("refused block-scales"), std::string::npos) << dry;
  expect_fits(dry);
  ASSERT_EQ(run_anemone(fmt::format("compile '{}' -o '{}'", checkpoint, model)).code, 0);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"check", model}, {"inspect", model + "/layers_00_05.mlpackage"}}) {
    const std::string out = shown(command);
    EXPECT_NE(out.find("decode"), std::string::npos) << out;
    expect_fits(out);
  }
}

}  // namespace
}  // namespace anemone::cli
