// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>

#include "base/thread_pool.h"
#include "exec/cpu/cpu_executor.h"

namespace anemone::exec {

// Threads that several programs take turns with (ThreadsTurn).
struct SharedThreads {
  explicit SharedThreads(const CpuOptions& options)
      : pool(options.threads > 0 ? options.threads : default_thread_count()),
        isa(options.isa),
        is_reference(options.is_reference) {}
  std::mutex mutex;
  ThreadPool pool;
  const kernels::simd::Isa isa;
  const bool is_reference;
};

// The threads for one piece of work. Where they are busy it is done on the caller's thread alone:
// the result is the same, only slower.
class ThreadsTurn {
 public:
  explicit ThreadsTurn(SharedThreads& threads)
      : lock_(threads.mutex, std::try_to_lock), shared_(threads.pool) {
    if (!lock_.owns_lock()) alone_.emplace(1);
  }
  ThreadPool& pool() { return alone_ ? *alone_ : shared_; }
  // Others may have them from now on.
  void end() {
    if (lock_.owns_lock()) lock_.unlock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
  ThreadPool& shared_;
  std::optional<ThreadPool> alone_;
};

}  // namespace anemone::exec
