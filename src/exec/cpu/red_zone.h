// SPDX-License-Identifier: Apache-2.0
// Guard bytes between the values of a run, under the address sanitizer: touching memory that
// belongs to no value is an error, although it lies in the same arena or buffer. Without the
// sanitizer there is no such memory, and nothing to do.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define ANEMONE_HAS_RED_ZONES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ANEMONE_HAS_RED_ZONES 1
#endif
#endif

#ifdef ANEMONE_HAS_RED_ZONES
#include <sanitizer/asan_interface.h>
#endif

namespace anemone::exec {

#ifdef ANEMONE_HAS_RED_ZONES
inline constexpr std::int64_t kRedZone = 64;  // bytes after each place of an arena
inline void forbid(const std::byte* at, std::size_t bytes) {
  __asan_poison_memory_region(at, bytes);
}
inline void allow(const std::byte* at, std::size_t bytes) {
  __asan_unpoison_memory_region(at, bytes);
}
#else
inline constexpr std::int64_t kRedZone = 0;
inline void forbid(const std::byte* /*at*/, std::size_t /*bytes*/) {}
inline void allow(const std::byte* /*at*/, std::size_t /*bytes*/) {}
#endif

}  // namespace anemone::exec
