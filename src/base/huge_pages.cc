// SPDX-License-Identifier: Apache-2.0
#include "base/huge_pages.h"

#include <algorithm>
#include <limits>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace anemone {

HugePages allocate_huge_pages(std::size_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  if (bytes > std::numeric_limits<std::size_t>::max() - kHugePage) return nullptr;
  const std::size_t whole =
      std::max<std::size_t>(1, (bytes + kHugePage - 1) / kHugePage) * kHugePage;
  HugePages memory(static_cast<std::byte*>(std::aligned_alloc(kHugePage, whole)));
  if (memory != nullptr) prefer_huge_pages(memory.get(), whole);
  return memory;
}

void prefer_huge_pages([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  ::madvise(at, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace anemone
