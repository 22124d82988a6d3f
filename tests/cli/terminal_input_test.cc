// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal_input.h"

#include <array>
#include <gtest/gtest.h>
#include <termios.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "tests/support/pseudo_terminal.h"

namespace anemone::cli {
namespace {

using anemone::testing::PseudoTerminal;

// The terminal is stdin while a test runs.
class TerminalInputs : public ::testing::Test {
 protected:
  TerminalInputs() : before_(::dup(STDIN_FILENO)) { ::dup2(terminal_.descriptor(), STDIN_FILENO); }
  ~TerminalInputs() override { ::dup2(before_.get(), STDIN_FILENO); }

  PseudoTerminal terminal_;
  Descriptor before_;
  std::array<char, 16> bytes_{};
};

TEST_F(TerminalInputs, GiveWhatWasTyped) {
  const TerminalInput input;
  EXPECT_FALSE(input.has_input(0));
  terminal_.type("ab\n");
  ASSERT_TRUE(input.has_input(10'000));
  const auto count = input.read(bytes_.data(), bytes_.size());
  ASSERT_TRUE(count.ok()) << count.status().message();
  ASSERT_EQ(*count, 3u);
  EXPECT_EQ(std::string_view(bytes_.data(), 3), "ab\n");
}

TEST_F(TerminalInputs, EndWithCtrlD) {
  const TerminalInput input;
  terminal_.type("\004");
  ASSERT_TRUE(input.has_input(10'000));
  const auto count = input.read(bytes_.data(), bytes_.size());
  ASSERT_TRUE(count.ok()) << count.status().message();
  EXPECT_EQ(*count, 0u);
}

// A read that waited would wait for ever here.
TEST_F(TerminalInputs, DoNotWaitForWhatCtrlCTookAway) {
  const TerminalInput input;
  terminal_.type("ab\n");
  ASSERT_TRUE(input.has_input(10'000));
  ASSERT_EQ(::tcflush(terminal_.descriptor(), TCIFLUSH), 0);
  const auto count = input.read(bytes_.data(), bytes_.size());
  ASSERT_TRUE(count.ok()) << count.status().message();
  EXPECT_FALSE(count->has_value());
}

}  // namespace
}  // namespace anemone::cli
