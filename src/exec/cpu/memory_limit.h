// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/machine.h"

namespace anemone::exec {

// How much memory the values of runs take together. Sizes may come from the tensors of a run
// ("fill", "range_1d", "tile"): one that asks for more than there is ends its own run with
// kOutOfMemory, before the system ends the process. Thread-safe.
class MemoryLimit {
 public:
  // 0: three quarters of what this process may use; weights and caches need the rest.
  explicit MemoryLimit(std::uint64_t bytes)
      : bytes_(bytes > 0 ? bytes : usable_memory_bytes() / 4 * 3) {}
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  // False, and nothing is taken, when that would be too much.
  bool take(std::uint64_t bytes) {
    std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    do {
      if (bytes > bytes_ - std::min(taken, bytes_)) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
    return true;
  }
  void give_back(std::uint64_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }
  // Whether memory that nobody uses now is better freed than kept for later.
  bool is_scarce() const { return taken_.load(std::memory_order_relaxed) > bytes_ / 2; }

 private:
  const std::uint64_t bytes_;
  std::atomic<std::uint64_t> taken_ = 0;
};

// Takes memory that no Buffer stands for, until the last copy goes away; null when there is none.
inline std::shared_ptr<const void> claim_memory(const std::shared_ptr<MemoryLimit>& limit,
                                                std::uint64_t bytes) {
  if (!limit->take(bytes)) return nullptr;
  return {limit.get(), [limit, bytes](const void*) { limit->give_back(bytes); }};
}

}  // namespace anemone::exec
