// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/machine.h"

namespace anemone {
namespace {

int affinity_count() {
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `is_over(value)`: first it spins without a system call, then it yields the core,
// since the thread that wants it may be the one that does our work, and last it sleeps. Going to
// sleep and waking up takes longer than most parts of a step that one thread does alone, so sleep
// is for the time between steps.
template <typename IsOver>
void spin_then_wait(const std::atomic<std::uint64_t>& value, IsOver is_over) {
  constexpr int kSpins = 1000;
  constexpr int kYields = 1000;
  constexpr int kSpinsAYield = 30;
  for (int i = 0; i < kSpins; ++i) {
    if (is_over(value.load())) return;
    pause();
  }
  for (int i = 0; i < kYields; ++i) {
    for (int spin = 0; spin < kSpinsAYield; ++spin) {
      if (is_over(value.load())) return;
      pause();
    }
    std::this_thread::yield();
  }
  for (std::uint64_t seen = value.load(); !is_over(seen); seen = value.load()) value.wait(seen);
}

}  // namespace

int default_thread_count() {
  const int affinity = std::max(1, affinity_count());
  const auto limit = read_cgroup_limits().cores;
  return limit ? std::clamp(static_cast<int>(std::ceil(*limit)), 1, affinity) : affinity;
}

ThreadPool::ThreadPool(int threads) {
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // The system gives no more threads: those that there are, and the caller, do the work.
  }
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  next_.fetch_add(std::uint64_t{1} << kRangeBits);  // another epoch wakes them
  next_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(1, grain);
  if (workers_.empty() || count <= grain) {
    for (std::int64_t begin = 0; begin < count; begin += grain)
      body(begin, std::min(count, begin + grain));
    return;
  }
  const std::uint64_t epoch = (next_.load(std::memory_order_relaxed) >> kRangeBits) + 1;
  Loop& loop = loops_[epoch % loops_.size()];
  loop.epoch.store(0);  // nobody may take what is half written for a loop
  loop.body.store(&body);
  loop.count.store(count);
  loop.grain.store(grain);
  const auto ranges = static_cast<std::uint64_t>((count + grain - 1) / grain);
  loop.ranges.store(ranges);
  loop.epoch.store(epoch);
  done_.store(0);
  next_.store(epoch << kRangeBits);
  next_.notify_all();
  drain();
  spin_then_wait(done_, [ranges](std::uint64_t done) { return done == ranges; });
  if (const std::exception_ptr failure = take_failure()) std::rethrow_exception(failure);
}

void ThreadPool::parallel_for_runs(std::int64_t count, std::int64_t grain,
                                   const std::function<void(std::int64_t, std::int64_t)>& body) {
  parallel_for_runs(
      count, grain, [] {}, body);
}

void ThreadPool::parallel_for_runs(std::int64_t count, std::int64_t grain,
                                   const std::function<void()>& prepare,
                                   const std::function<void(std::int64_t, std::int64_t)>& body) {
  grain = std::max<std::int64_t>(1, grain);
  const std::int64_t ranges = count <= 0 ? 0 : (count - 1) / grain + 1;
  const std::int64_t parts = std::min<std::int64_t>(threads(), ranges);
  struct alignas(64) Part {
    std::atomic<std::int64_t> next = 0;  // range
    std::int64_t end = 0;
  };
  std::vector<Part> all(static_cast<std::size_t>(parts));
  for (std::int64_t p = 0; p < parts; ++p) {
    Part& part = all[static_cast<std::size_t>(p)];
    part.next = ranges * p / parts;
    part.end = ranges * (p + 1) / parts;
  }
  parallel_for(parts, 1, [&](std::int64_t first, std::int64_t) {
    bool is_prepared = false;
    for (std::int64_t p = first; p < first + parts; ++p) {
      Part& part = all[static_cast<std::size_t>(p % parts)];
      while (true) {
        const std::int64_t range = part.next.fetch_add(1, std::memory_order_relaxed);
        if (range >= part.end) break;
        if (!std::exchange(is_prepared, true)) prepare();
        body(range * grain, std::min(count, (range + 1) * grain));
      }
    }
  });
}

bool ThreadPool::run_range(std::uint64_t ticket) {
  const std::uint64_t epoch = ticket >> kRangeBits;
  const std::uint64_t range = ticket & kRangeMask;
  const Loop& loop = loops_[epoch % loops_.size()];
  // The fields belong together when the epoch is the same before and after. A range that exists
  // keeps its loop from ending, so nothing changes from then on.
  if (loop.epoch.load() != epoch) return false;
  const std::uint64_t ranges = loop.ranges.load();
  if (loop.epoch.load() != epoch || range >= ranges) return false;
  const std::int64_t grain = loop.grain.load();
  const std::int64_t begin = static_cast<std::int64_t>(range) * grain;
  // Nobody would catch an exception on a worker; on the caller it would pass workers that still
  // run.
  try {
    (*loop.body.load())(begin, std::min(loop.count.load(), begin + grain));
  } catch (...) {
    keep_failure();
  }
  if (done_.fetch_add(1) + 1 == ranges) done_.notify_all();
  return true;
}

void ThreadPool::keep_failure() {
  const std::lock_guard lock(failure_mutex_);
  if (failure_ == nullptr) failure_ = std::current_exception();
  has_failure_ = true;
}

std::exception_ptr ThreadPool::take_failure() {
  if (!has_failure_.load()) return nullptr;
  const std::lock_guard lock(failure_mutex_);
  has_failure_ = false;
  return std::exchange(failure_, nullptr);
}

std::uint64_t ThreadPool::drain() {
  while (true) {
    const std::uint64_t ticket = next_.fetch_add(1);
    if (!run_range(ticket)) return ticket >> kRangeBits;
  }
}

void ThreadPool::work() {
  while (!stopping_) {
    const std::uint64_t seen = drain();
    // drain() may have found the epoch of the end.
    spin_then_wait(next_,
                   [&](std::uint64_t next) { return next >> kRangeBits != seen || stopping_; });
  }
}

}  // namespace anemone
