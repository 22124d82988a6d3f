// SPDX-License-Identifier: Apache-2.0
// Prefetches of memory that is read in one run.
#pragma once

#include <cstdint>

namespace anemone::kernels::simd {

// How far ahead weights are prefetched. The processor prefetches by itself, but only up to the end
// of a page, and in some virtual machines hardly at all. Far ahead goes into the second-level
// cache: into the nearest one fewer lines can be on their way at a time. The processor drops such a
// prefetch while too many lines are on their way already, and the reader would then wait for
// memory. So another one follows when the line is near, into the nearest cache, which waits for
// room instead.
inline constexpr std::int64_t kFarBytes = 8192;
inline constexpr std::int64_t kNearBytes = 3072;

// The address `bytes` after `at`. It may lie beyond the memory: a prefetch is a hint and never
// faults.
[[gnu::always_inline]] inline const void* address_after(const void* at, std::int64_t bytes) {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(at) +
                                       static_cast<std::uintptr_t>(bytes));
}

// Prefetches the lines `far` and `near` bytes after `at`. Always inlined: GCC takes the function
// for one without effect and leaves out calls of it.
[[gnu::always_inline]] inline void prefetch_twice(const void* at, std::int64_t far = kFarBytes,
                                                  std::int64_t near = kNearBytes) {
  __builtin_prefetch(address_after(at, far), 0, 2);
  __builtin_prefetch(address_after(at, near), 0, 3);
}

}  // namespace anemone::kernels::simd
