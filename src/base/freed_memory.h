// SPDX-License-Identifier: Apache-2.0
// malloc keeps much of the memory that a large request freed for this process, where no other can
// use it. A server gives it back to the system.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

namespace anemone {

// Says that so many bytes of the heap were freed, or are about to be. Called by code that counts
// its bytes anyway; it is one addition. Thread-safe.
void note_freed(std::size_t bytes) noexcept;

// While it lives, freed memory goes back to the system a second or two after enough of it was
// noted. A separate thread does that, since it takes up to some tenths of a second. Does nothing
// where the C library is not glibc. A process has one at most.
class FreedMemoryReturner {
 public:
  FreedMemoryReturner();
  ~FreedMemoryReturner();
  FreedMemoryReturner(const FreedMemoryReturner&) = delete;
  FreedMemoryReturner& operator=(const FreedMemoryReturner&) = delete;

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace anemone
