// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace anemone::bench {

// Memory of this process that is in use now, in bytes. 0 where the system does not say.
struct MemoryUse {
  std::uint64_t resident = 0;
  std::uint64_t anonymous = 0;  // of it, memory of its own: heap, stacks, caches of a session
  std::uint64_t mapped = 0;     // of it, pages of files, which other processes share
  std::uint64_t peak = 0;       // the most that was resident at any time
};

MemoryUse memory_use();

}  // namespace anemone::bench
