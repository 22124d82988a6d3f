// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

#include <gtest/gtest.h>
#include <regex>
#include <string>
#include <thread>

#include "base/terminal.h"
#include "tests/support/pseudo_terminal.h"

namespace anemone {
namespace {

using namespace std::chrono_literals;
using anemone::testing::PseudoTerminal;

constexpr Progress::Place kAtOnce = {
    .descriptor = -1, .first_bar = 0ms, .first_sentence = 0ms, .between_sentences = 0ms};

ProgressState half(std::string label = "compiling", std::string note = "") {
  return {.label = std::move(label),
          .done = 20'000'000,
          .total = 40'000'000,
          .unit = ProgressState::Unit::kBytes,
          .seconds = 8,
          .note = std::move(note)};
}

TEST(ProgressBar, ShowsAllOfItWhereThereIsRoom) {
  EXPECT_EQ(
      progress_bar(half("compiling", "layers_0_3"), 118),
      "compiling [##############..............]  50% 20.0 MB / 40.0 MB, 8.0 s left  layers_0_3");
}

TEST(ProgressBar, FitsEveryWidth) {
  for (const std::string label : {"compiling", "downloading Qwen/Qwen2.5-0.5B-Instruct-GGUF",
                                  "\u4e0b\u8f7d\u6a21\u578b\u4e0b\u8f7d\u6a21\u578b"})
    for (int columns = 1; columns <= 200; ++columns) {
      const std::string line =
          progress_bar(half(label, "model-00001-of-00003.safetensors"), columns);
      EXPECT_LE(columns_of(line), columns) << line;
      if (columns >= 40) {
        EXPECT_NE(line.find(" 50%"), std::string::npos) << line;
        EXPECT_NE(line.find('#'), std::string::npos) << line;
      }
    }
}

TEST(ProgressBar, CutsTheLabelBeforeTheNumbers) {
  const std::string line = progress_bar(half("downloading Qwen/Qwen2.5-0.5B-Instruct"), 70);
  EXPECT_TRUE(line.starts_with("download")) << line;
  EXPECT_NE(line.find("... ["), std::string::npos) << line;
  EXPECT_NE(line.find("20.0 MB / 40.0 MB, 8.0 s left"), std::string::npos) << line;
}

TEST(ProgressBar, HasOnlyTheAmountWhereTheTotalIsNotKnown) {
  EXPECT_EQ(progress_bar({.label = "reading", .done = 12}, 80), "reading 12");
}

TEST(ProgressSentence, SaysItInWords) {
  EXPECT_EQ(progress_sentence(half()), "compiling: 50 %, 20.0 MB of 40.0 MB, 8.0 s left");
  EXPECT_EQ(progress_sentence({.label = "loading", .done = 3, .total = 3}),
            "loading: 100 %, 3 of 3");
}

TEST(Progress, StaysInOneLineOfTheTerminal) {
  for (const int columns : {40, 80, 200}) {
    PseudoTerminal terminal(columns);
    auto place = kAtOnce;
    place.descriptor = terminal.descriptor();
    {
      Progress progress("downloading Owner/A-Model-With-A-Long-Name", 40, Progress::Unit::kItems,
                        place);
      progress.note("a note that is far too long for the smallest of these terminals");
      progress.add(20);
      EXPECT_TRUE(is_progress_drawn());
      std::this_thread::sleep_for(90ms);
      progress.add(20);
    }
    EXPECT_FALSE(is_progress_drawn());
    const std::string out = terminal.read_for(100ms);
    EXPECT_EQ(out.find('\n'), std::string::npos);
    EXPECT_NE(out.find("100%"), std::string::npos) << out;
    EXPECT_TRUE(out.ends_with("\r\033[K")) << out;
    const std::regex frame("\r([^\r\033]*)\033");
    for (auto it = std::sregex_iterator(out.begin(), out.end(), frame);
         it != std::sregex_iterator(); ++it)
      EXPECT_LT(columns_of((*it)[1].str()), columns);
  }
}

TEST(Progress, FollowsAWindowThatIsMadeNarrower) {
  PseudoTerminal terminal(120);
  auto place = kAtOnce;
  place.descriptor = terminal.descriptor();
  Progress progress("downloading", 40, Progress::Unit::kItems, place);
  progress.add(20);
  ASSERT_TRUE(terminal.wait_for("[####"));
  terminal.resize(30);
  std::this_thread::sleep_for(90ms);
  progress.add(10);
  const std::string out = terminal.read_for(100ms);
  // The rows that the old line takes now are cleared.
  EXPECT_NE(out.find("\r\033[2A\033[J\r"), std::string::npos) << out;
  const std::size_t begin = out.rfind('\r') + 1;
  EXPECT_LT(columns_of(out.substr(begin, out.rfind("\033[K") - begin)), 30) << out;
}

TEST(Progress, WritesLinesWhereThereIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  auto place = kAtOnce;
  place.descriptor = ends[1];
  place.between_sentences = 10min;
  {
    Progress progress("compiling", 40, Progress::Unit::kItems, place);
    progress.add(10);
    progress.add(10);
    progress.add(20);
  }
  char text[200] = {};
  EXPECT_GT(::read(ends[0], text, sizeof(text) - 1), 0);
  const std::string line = text;
  EXPECT_TRUE(line.starts_with("anemone: compiling: 25 %, 10 of 40")) << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line, since the next one is due much later";
  for (const int end : ends) ::close(end);
}

TEST(Progress, IsSilentWhenWorkIsShort) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress("compiling", 10, Progress::Unit::kItems);
    for (int i = 0; i < 12; ++i) progress.add(1);
    progress.note("layer 3");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Color, IsForTerminalsThatWantIt) {
  PseudoTerminal terminal;
  const int there = terminal.descriptor();
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(has_color(there));
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(has_color(there));
  ::setenv("TERM", "xterm", 1);
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(has_color(there));
  EXPECT_EQ(styled("x", Style::kError, there), "x");
  set_color_mode(ColorMode::kAlways);
  EXPECT_TRUE(has_color(-1));
  EXPECT_EQ(styled("x", Style::kError, -1), "\033[1;31mx\033[0m");
  ::unsetenv("NO_COLOR");
  set_color_mode(ColorMode::kNever);
  EXPECT_FALSE(has_color(there));
  set_color_mode(ColorMode::kAuto);
}

}  // namespace
}  // namespace anemone
