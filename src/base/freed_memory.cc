// SPDX-License-Identifier: Apache-2.0
#include "base/freed_memory.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace anemone {
namespace {

#ifdef __GLIBC__
constexpr std::size_t kWorthwhile = 32 << 20;  // bytes; for less, malloc_trim() is not called
constexpr std::chrono::seconds kPause{1};      // between two looks at freed_bytes
#endif

std::atomic<std::size_t> freed_bytes = 0;

}  // namespace

void note_freed(std::size_t bytes) noexcept {
  freed_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

FreedMemoryReturner::FreedMemoryReturner() {
#ifdef __GLIBC__
  thread_ = std::thread([this] { work(); });
#endif
}

FreedMemoryReturner::~FreedMemoryReturner() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void FreedMemoryReturner::work() {
#ifdef __GLIBC__
  bool is_due = false;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kPause, [this] { return is_ending_; })) {
    // The call comes one pause later, because note_freed() may be called just before the memory is
    // freed.
    if (is_due) ::malloc_trim(0);
    is_due = freed_bytes.load(std::memory_order_relaxed) >= kWorthwhile;
    if (is_due) freed_bytes.store(0, std::memory_order_relaxed);
  }
#endif
}

}  // namespace anemone
