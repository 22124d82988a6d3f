// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace anemone {

struct FreeHugePages {
  void operator()(std::byte* at) const { std::free(at); }
};
using HugePages = std::unique_ptr<std::byte, FreeHugePages>;

// Memory for large data that is read again and again, in pages of 2 MiB where the system gives
// them: the processor then looks up few addresses, and fetches ahead across what would be many
// pages of 4 KiB. It begins where such a page begins, and holds anything. nullptr: there is not so
// much memory.
HugePages allocate_huge_pages(std::size_t bytes);

// Asks for pages of 2 MiB for mapped memory that begins where a page begins. Where the system has
// none, nothing happens.
void prefer_huge_pages(void* at, std::size_t bytes);

}  // namespace anemone
