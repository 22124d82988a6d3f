// SPDX-License-Identifier: Apache-2.0
// A terminal without a screen, for what shows on a terminal alone: its window has a size, and what
// is written to it can be read.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace anemone::testing {

class PseudoTerminal {
 public:
  explicit PseudoTerminal(int columns = 80) : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    EXPECT_GE(master_, 0);
    EXPECT_EQ(::grantpt(master_), 0);
    EXPECT_EQ(::unlockpt(master_), 0);
    slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    EXPECT_GE(slave_, 0);
    resize(columns);
  }
  ~PseudoTerminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    if (slave_ >= 0) ::close(slave_);
    ::close(master_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  // The end that a program writes to.
  int descriptor() const { return slave_; }

  void resize(int columns) const {
    winsize size{};
    size.ws_row = 24;
    size.ws_col = static_cast<unsigned short>(columns);
    EXPECT_EQ(::ioctl(master_, TIOCSWINSZ, &size), 0);
  }

  // Starts a program that has this terminal for stdin, stdout and stderr, and for its own one.
  void start(std::vector<std::string> words,
             const std::vector<std::pair<std::string, std::string>>& variables = {}) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    ASSERT_GE(pid_, 0);
    if (pid_ > 0) return;
    ::setsid();
    ::ioctl(slave_, TIOCSCTTY, 0);
    for (int i = 0; i < 3; ++i) ::dup2(slave_, i);
    ::close(slave_);
    ::close(master_);
    ::signal(SIGINT, SIG_DFL);
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("ANEMONE_PROGRESS");
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }

  void type(std::string_view text) const {
    EXPECT_EQ(::write(master_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  // Reads on until the text has come, or the program has ended, or the time is over; whether it
  // came since the last call that found its text.
  bool wait_for(std::string_view text, std::chrono::milliseconds time = std::chrono::seconds(60)) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (true) {
      if (const std::size_t at = output_.find(text, seen_); at != output_.npos) {
        seen_ = at + text.size();
        return true;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      if (left.count() <= 0 || !read_some(static_cast<int>(left.count()))) return false;
    }
  }

  // What comes within the time.
  std::string read_for(std::chrono::milliseconds time) {
    const std::size_t before = output_.size();
    const auto end = std::chrono::steady_clock::now() + time;
    for (auto now = std::chrono::steady_clock::now(); now < end;
         now = std::chrono::steady_clock::now())
      if (!read_some(static_cast<int>(
                         std::chrono::duration_cast<std::chrono::milliseconds>(end - now).count()) +
                     1))
        break;
    return output_.substr(before);
  }

  pid_t pid() const { return pid_; }

  // The wait status of the program once it has ended, all of its output read. A program that goes
  // on and says nothing for a minute is killed: a test that fails tells more than one that waits.
  int wait() {
    ::close(std::exchange(slave_, -1));
    while (read_some(60'000)) continue;
    int status = -1;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << "the program goes on: " << output_;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, &status, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    pid_ = -1;
    return status;
  }

  const std::string& output() const { return output_; }

 private:
  bool read_some(int milliseconds) {
    pollfd poll = {master_, POLLIN, 0};
    if (::poll(&poll, 1, milliseconds) <= 0) return false;
    char bytes[4096];
    const ssize_t count = ::read(master_, bytes, sizeof(bytes));
    if (count <= 0) return false;  // EIO: nobody has the other end open
    output_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  int master_;
  int slave_ = -1;
  pid_t pid_ = -1;
  std::string output_;
  std::size_t seen_ = 0;
};

}  // namespace anemone::testing
