// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <chrono>
#include <functional>
#include <thread>

namespace anemone::cli {

// Takes SIGINT, SIGTERM and, if it is not ignored, SIGHUP as requests to stop in order. The
// returned descriptor becomes readable with the first signal and stays so; a second signal ends the
// process at once with the exit code 128 + its number. kIo when the process has no descriptor left.
// Call once.
Result<int> catch_stop_signals();

// Ends the process, with the code of kCancelled, when it still runs this long after the first
// signal, whatever its threads are in the middle of. It lives around what has to stop in order.
class StopDeadline {
 public:
  // `stop` is the descriptor of catch_stop_signals(). `clean_up` is called right before the end, on
  // a thread of its own while all others run: it may only remove files and print.
  StopDeadline(int stop, std::chrono::milliseconds time, std::function<void()> clean_up);
  ~StopDeadline();
  StopDeadline(const StopDeadline&) = delete;
  StopDeadline& operator=(const StopDeadline&) = delete;

 private:
  void watch(int stop, std::chrono::milliseconds time);

  std::function<void()> clean_up_;
  int disarm_[2] = {-1, -1};  // a pipe
  std::thread thread_;
};

}  // namespace anemone::cli
