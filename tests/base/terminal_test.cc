// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <cerrno>
#include <csignal>
#include <gtest/gtest.h>
#include <string>
#include <sys/time.h>
#include <thread>
#include <unistd.h>

namespace anemone {
namespace {

// Signals that come all the time while this lives, and that end a system call.
class Signals {
 public:
  Signals() {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGALRM, &action, &before_);
    const itimerval often = {.it_interval = {.tv_sec = 0, .tv_usec = 500},
                             .it_value = {.tv_sec = 0, .tv_usec = 500}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Signals() {
    const itimerval never = {};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_ = {};
};

TEST(WriteText, WritesAllWhateverSignalsCome) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::string text;
  for (int i = 0; text.size() < 300'000; ++i) text += std::to_string(i) + "\n";
  std::string read;
  std::thread reader([&] {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGALRM);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    char piece[4096];
    while (true) {
      // So slowly that the writer waits, and signals find it there.
      ::usleep(1000);
      const ssize_t count = ::read(ends[0], piece, sizeof(piece));
      if (count <= 0) break;
      read.append(piece, static_cast<std::size_t>(count));
    }
  });
  {
    const Signals signals;
    EXPECT_TRUE(write_text(ends[1], text));
  }
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  EXPECT_EQ(read, text);
}

TEST(WriteText, SaysWhenNothingIsTaken) {
  EXPECT_FALSE(write_text(-1, "text"));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace anemone
