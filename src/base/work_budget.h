// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace anemone {

// Bounds the work that one request of somebody else may cause before it is admitted: its parsing,
// its chat template, its tokenization. Every loop whose length the request decides calls spend();
// the first call beyond a limit gives the error that the request ends with.
//
// Used by the thread that made it, because it counts the CPU time of that thread: a request does
// not pay for the time in which the machine did something else. Only the cancel flag may be set by
// other threads.
class WorkBudget {
 public:
  struct Limits {
    std::chrono::milliseconds cpu_time{2'000};
    std::size_t bytes = std::size_t{512} << 20;  // held at a time
  };

  // `subject` names the work in errors: "request". `cancel` may be null; it outlives the budget.
  WorkBudget(std::string subject, const Limits& limits, const std::atomic<bool>* cancel = nullptr);
  // The memory that it counted is free by then, or soon.
  ~WorkBudget();
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

  // Counts work in units of about a nanosecond (a byte copied, a comparison); reads the clock and
  // the cancel flag about once per 100 microseconds of them. kInvalidArgument when the CPU time is
  // used up, kCancelled when the flag is set; from then on each call gives the same error.
  Status spend(std::size_t units) {
    if (units < until_check_) {
      until_check_ -= units;
      return {};
    }
    return check();
  }
  // spend() that reads the clock now; for the boundaries between the stages of a request.
  Status check();

  // For work that alternates with other work of the thread: only the CPU time between resume() and
  // pause() counts. A new budget is running.
  void pause();
  void resume();

  // Counts memory. kInvalidArgument when more than the limit would be held at a time.
  Status take(std::size_t bytes);
  void give_back(std::size_t bytes);

 private:
  static constexpr std::size_t kUnitsPerCheck = 100'000;

  const std::string subject_;
  const Limits limits_;
  const std::atomic<bool>* const cancel_;
  // CPU time of the thread when the work began, as if it had not paused.
  std::chrono::nanoseconds start_;
  std::chrono::nanoseconds used_{0};  // until the pause
  std::size_t until_check_ = kUnitsPerCheck;
  std::size_t held_ = 0;
  std::size_t peak_held_ = 0;
  Status exceeded_;
};

}  // namespace anemone
