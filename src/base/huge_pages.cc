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
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (memory != nullptr) ::madvise(memory.get(), whole, MADV_HUGEPAGE);
#endif
  return memory;
}

}  // namespace anemone
