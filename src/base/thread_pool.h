// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace anemone {

// Threads this process may use: CPU affinity and the cgroup quota, not the machine's core count.
// >= 1.
int default_thread_count();

// A fixed set of workers for data-parallel loops. The calling thread works too, so a pool of 1
// starts no thread. A waiting thread spins for some microseconds, since the next loop of a model
// comes that soon, and then sleeps; ranges are taken one by one, so a stolen core costs only its
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
  // result must depend on its range alone. Bodies must not call parallel_for on this pool. When one
  // throws (as for want of memory), the others run all the same and the caller gets the exception.
  void parallel_for(std::int64_t count, std::int64_t grain,
                    const std::function<void(std::int64_t, std::int64_t)>& body);

  // Like parallel_for, but every thread begins in a part of [0, count) of its own and goes through
  // it in order, which suits hardware prefetchers and bodies that fetch memory ahead. A thread that
  // is done helps the others.
  void parallel_for_runs(std::int64_t count, std::int64_t grain,
                         const std::function<void(std::int64_t, std::int64_t)>& body);
  // Calls prepare() before the bodies that a thread runs one after the other, on that thread: for
  // what it would else have to read from the cache of another one.
  void parallel_for_runs(std::int64_t count, std::int64_t grain,
                         const std::function<void()>& prepare,
                         const std::function<void(std::int64_t, std::int64_t)>& body);

 private:
  using Body = std::function<void(std::int64_t, std::int64_t)>;

  // What one thread writes while another looks at it lies this far from everything else: cache
  // lines come in pairs.
  static constexpr std::size_t kApart = 128;

  // One loop. Two are used in turn: a worker that comes late may still look at the one before, and
  // tells by the epoch that it is over.
  struct alignas(kApart) Loop {
    std::atomic<std::uint64_t> epoch = 0;
    std::atomic<const Body*> body = nullptr;
    std::atomic<std::uint64_t> ranges = 0;
    std::atomic<std::int64_t> count = 0;
    std::atomic<std::int64_t> grain = 1;
  };

  // Ranges that are left of the current loop are counted in the low bits of `next_`, its epoch in
  // the high ones: taking a range and finding out which loop it belongs to is one step.
  static constexpr int kRangeBits = 40;
  static constexpr std::uint64_t kRangeMask = (std::uint64_t{1} << kRangeBits) - 1;

  void work();
  // Takes ranges until there are none. Returns the epoch of the loop that it found exhausted.
  std::uint64_t drain();
  bool run_range(std::uint64_t ticket);
  // The first exception of the current loop's bodies.
  void keep_failure();
  std::exception_ptr take_failure();

  std::array<Loop, 2> loops_;
  alignas(kApart) std::atomic<std::uint64_t> next_ = kRangeMask >>
                                                     1;  // no loop: out of every range
  alignas(kApart) std::atomic<std::uint64_t> done_ = 0;  // ranges of the current loop that are done
  alignas(kApart) std::atomic<bool> stopping_ = false;
  std::atomic<bool> has_failure_ = false;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::vector<std::thread> workers_;
};

}  // namespace anemone
