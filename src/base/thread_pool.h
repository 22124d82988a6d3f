// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace anemone {

// Threads this process may use: CPU affinity and the cgroup quota, not the machine's core count.
// >= 1.
int default_thread_count();

// A fixed set of workers for data-parallel loops. The calling thread works too, so a pool of 1
// starts no thread. Waits by condition variable, never by spinning: a stolen core costs only its
// share. One loop at a time: parallel_for is for one caller at a time (single-thread), the bodies
// run anywhere.
class ThreadPool {
 public:
  explicit ThreadPool(int threads = default_thread_count());
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(begin, end) over disjoint ranges that cover [0, count), at most `grain` long each;
  // ranges are taken as threads come free. Which thread takes which range is not fixed, so a body's
  // result must depend on its range alone. Bodies must not throw and must not call parallel_for on
  // this pool.
  void parallel_for(std::int64_t count, std::int64_t grain,
                    const std::function<void(std::int64_t, std::int64_t)>& body);

 private:
  void work();
  void drain();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::vector<std::thread> workers_;
  const std::function<void(std::int64_t, std::int64_t)>* body_ = nullptr;
  std::int64_t next_ = 0;
  std::int64_t count_ = 0;
  std::int64_t grain_ = 1;
  int busy_ = 0;
  std::uint64_t generation_ = 0;
  bool stopping_ = false;
};

}  // namespace anemone
