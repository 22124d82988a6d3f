// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "base/thread_pool.h"
#include "exec/cpu/cpu_executor.h"

namespace anemone::exec {

// Threads that several programs take turns with. A run that finds them busy works on its own thread
// alone: the result is the same, only slower.
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

}  // namespace anemone::exec
