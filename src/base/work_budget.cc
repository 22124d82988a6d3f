// SPDX-License-Identifier: Apache-2.0
#include "base/work_budget.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/error.h"
#include "base/freed_memory.h"

namespace anemone {
namespace {

std::chrono::nanoseconds thread_cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

WorkBudget::WorkBudget(std::string subject, const Limits& limits, const std::atomic<bool>* cancel)
    : subject_(std::move(subject)), limits_(limits), cancel_(cancel), start_(thread_cpu_time()) {}

WorkBudget::~WorkBudget() {
  note_freed(peak_held_);
}

Status WorkBudget::check() {
  until_check_ = 0;  // after an error every call comes here
  if (!exceeded_.ok()) return exceeded_;
  if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed))
    return exceeded_ = cancelled("[{}] was cancelled", subject_);
  if (thread_cpu_time() - start_ > limits_.cpu_time)
    return exceeded_ = invalid_argument("[{}] needs more than its limit of {} ms of CPU time",
                                        subject_, limits_.cpu_time.count());
  until_check_ = kUnitsPerCheck;
  return {};
}

void WorkBudget::pause() {
  used_ = thread_cpu_time() - start_;
}

void WorkBudget::resume() {
  start_ = thread_cpu_time() - used_;
}

Status WorkBudget::take(std::size_t bytes) {
  if (!exceeded_.ok()) return exceeded_;
  if (bytes > limits_.bytes - held_) {
    until_check_ = 0;
    return exceeded_ = invalid_argument("[{}] needs more than its limit of {} MB of memory",
                                        subject_, limits_.bytes >> 20);
  }
  held_ += bytes;
  peak_held_ = std::max(peak_held_, held_);
  return {};
}

void WorkBudget::give_back(std::size_t bytes) {
  held_ -= bytes < held_ ? bytes : held_;
}

}  // namespace anemone
