// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "base/thread_pool.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/memory_limit.h"

namespace anemone::exec {

// What all programs of an executor share: threads that they take turns with (ThreadsTurn), and the
// limit of the memory that their runs take together.
struct SharedResources {
  explicit SharedResources(const CpuOptions& options)
      : pool(options.threads > 0 ? options.threads : default_thread_count()),
        isa(options.isa),
        is_reference(options.is_reference),
        chunks_delta_nets(options.chunks_delta_nets),
        max_rounds(options.max_rounds),
        offload(options.offload),
        memory(std::make_shared<MemoryLimit>(options.memory_bytes)) {}
  std::mutex mutex;
  ThreadPool pool;
  const kernels::simd::Isa isa;
  const bool is_reference;
  const bool chunks_delta_nets;
  const std::int64_t max_rounds;
  const std::shared_ptr<ProductOffload> offload;
  const std::shared_ptr<MemoryLimit> memory;
};

// Borrows the threads for one piece of work. If they are busy, it runs on the caller's thread
// alone: the result is the same, only slower.
class ThreadsTurn {
 public:
  explicit ThreadsTurn(SharedResources& threads)
      : lock_(threads.mutex, std::try_to_lock), shared_(threads.pool) {
    if (!lock_.owns_lock()) alone_.emplace(1);
  }
  ThreadPool& pool() { return alone_ ? *alone_ : shared_; }
  // Lets others have them while `action` runs.
  template <typename Action>
  void lend(const Action& action) {
    const bool was_owner = lock_.owns_lock();
    end();
    action();
    if (was_owner) lock_.lock();
  }
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
