// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signal.h"

#include <chrono>
#include <cstdio>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace anemone::cli {
namespace {

using namespace std::chrono_literals;

// The two ends of a pipe in place of that of the signals.
class StopPipe {
 public:
  StopPipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~StopPipe() {
    for (const int end : ends_) ::close(end);
  }
  StopPipe(const StopPipe&) = delete;
  StopPipe& operator=(const StopPipe&) = delete;
  void stop() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  int get() const { return ends_[0]; }

 private:
  int ends_[2] = {-1, -1};
};

TEST(StopDeadlineDeathTest, EndsAProcessThatDoesNotEnd) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        StopPipe pipe;
        pipe.stop();
        const StopDeadline deadline(pipe.get(), 50ms, [] { std::fputs("too late", stderr); });
        std::this_thread::sleep_for(10min);
      },
      ::testing::ExitedWithCode(exit_code(Code::kCancelled)), "too late");
}

TEST(StopDeadline, DoesNothingToAProcessThatEndsInTime) {
  StopPipe pipe;
  {
    const StopDeadline deadline(pipe.get(), 0ms, [] { FAIL(); });
  }  // no signal came
  pipe.stop();
  {
    const StopDeadline deadline(pipe.get(), 10min, [] { FAIL(); });
  }
}

}  // namespace
}  // namespace anemone::cli
