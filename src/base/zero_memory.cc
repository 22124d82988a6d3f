// SPDX-License-Identifier: Apache-2.0
#include "base/zero_memory.h"

#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace anemone {
namespace {

// From here on it is cheaper to give pages back than to write to them.
[[maybe_unused]] constexpr std::size_t kManyPages = std::size_t{1} << 16;

}  // namespace

void zero_memory(std::byte* data, std::size_t count) {
  std::byte* begin = data;
  std::byte* const end = data + count;
#ifdef __linux__
  // The kernel gives private memory of which it took the pages back as zeros, when it is read next.
  // Elsewhere MADV_DONTNEED promises nothing.
  if (count >= kManyPages) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto before = (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
    const auto behind = reinterpret_cast<std::uintptr_t>(end) % page;
    std::byte* const pages = begin + before;
    const auto whole = static_cast<std::size_t>(end - pages) - behind;
    if (::madvise(pages, whole, MADV_DONTNEED) == 0) {
      std::memset(begin, 0, before);
      begin = end - behind;
    }
  }
#endif
  std::memset(begin, 0, static_cast<std::size_t>(end - begin));
}

}  // namespace anemone
