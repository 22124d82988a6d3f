// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <cmath>
#include <system_error>

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
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(std::int64_t count, std::int64_t grain,
                              const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(1, grain);
  if (workers_.empty() || count <= grain) {
    for (std::int64_t begin = 0; begin < count; begin += grain)
      body(begin, std::min(count, begin + grain));
    return;
  }
  {
    std::lock_guard lock(mutex_);
    body_ = &body;
    next_ = 0;
    count_ = count;
    grain_ = grain;
    ++generation_;
  }
  wake_.notify_all();
  drain();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
  body_ = nullptr;
}

void ThreadPool::drain() {
  std::unique_lock lock(mutex_);
  ++busy_;
  while (next_ < count_) {
    const std::int64_t begin = next_;
    const std::int64_t end = std::min(count_, begin + grain_);
    next_ = end;
    const auto* body = body_;
    lock.unlock();
    (*body)(begin, end);
    lock.lock();
  }
  if (--busy_ == 0) done_.notify_all();
}

void ThreadPool::work() {
  std::uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || (generation_ != seen && next_ < count_); });
      if (stopping_) return;
      seen = generation_;
    }
    drain();
  }
}

}  // namespace anemone
